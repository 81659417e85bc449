import { afterEach, describe, expect, it } from '@jest/globals';

import { readEnvironment } from '../../src/config/index.js';
import { Clock, ModelError, Random } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useFreshService } from '../support/describe-service.js';
import { freePort } from '../support/ports.js';
import { pause } from '../support/pause.js';
import { PausingClock } from '../support/clocks.js';
import { ChosenRandom } from '../support/routing/chosen-random.js';
import { type RoutedService, startRoutedService } from '../support/routing/routed-service.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { readSamples, type Samples, sumOf } from './scrape.js';

const ON = { METRICS: true };

async function scrape({ origin }: Pick<Service, 'origin'>, headers = {}): Promise<Samples> {
  const answer = await fetch(`${origin}/metrics`, { headers });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  return readSamples(await answer.text());
}

describe('metrics', () => {
  const service = useFreshService({ environment: ON, providers: [ScriptedProvider] });
  const say = { model: 'scripted', input: 'Hi' };

  it('metrics count every turn once, by transport and status, with its tokens', async () => {
    service.provider.otherwise(async function* () {
      yield { type: 'text', delta: 'ok' };
      yield { type: 'usage', input: 10, cached: 4, output: 7, reasoning: 2 };
      yield { type: 'finish', reason: 'stop' };
    });
    const client = service.client();
    await client.responses.create(say);
    await client.responses.stream(say).finalResponse();
    const queued = await client.responses.create({ ...say, background: true });
    while ((await client.responses.retrieve(queued.id)).status !== 'completed') await pause();
    const hello = { model: 'scripted', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
    expect((await service.api.post('messages', hello)).status).toBe(200);
    await using socket = await SocketClient.open(service);
    socket.create({ input: 'Hi' });
    await socket.finish();

    const samples = await scrape(service);
    const turns = (labels: Record<string, string>): number => sumOf(samples, 'antiphon_turns_total', labels);
    const done = { model: 'scripted', provider: 'scripted', status: 'completed' };
    expect(turns({})).toBe(5);
    expect(turns({ ...done, door: 'responses' })).toBe(4);
    expect(turns({ ...done, door: 'messages', transport: 'json' })).toBe(1);
    expect(turns({ ...done, transport: 'json', background: 'false' })).toBe(2);
    expect(turns({ ...done, transport: 'sse' })).toBe(1);
    expect(turns({ ...done, transport: 'websocket' })).toBe(1);
    expect(turns({ ...done, background: 'true' })).toBe(1);
    const tokens = ['input', 'cached', 'output', 'reasoning'].map((type) =>
      sumOf(samples, 'antiphon_tokens_total', { type }),
    );
    expect(tokens).toEqual([50, 20, 35, 10]);
    expect(sumOf(samples, 'antiphon_turn_first_event_seconds_count')).toBe(5);
    expect(sumOf(samples, 'antiphon_turn_duration_seconds_count')).toBe(5);
    expect(sumOf(samples, 'antiphon_sockets_open')).toBe(1);
    expect(sumOf(samples, 'antiphon_turns_running')).toBe(0);
  });

  it('metrics count refusals and failures by code, over HTTP and on sockets', async () => {
    service.provider.play(async function* () {
      throw new ModelError('made_up_code', 'No.', { status: 500 });
    });
    await service.api.post('responses', say);
    await service.api.post('responses', { ...say, previous_response_id: 'resp_unknown' });
    await service.api.post('responses', { model: 'scripted' });
    await using socket = await SocketClient.open(service);
    socket.send('{');
    socket.create({ input: 'Hi', previous_response_id: 'resp_unknown' });
    await socket.next();
    await socket.next();
    const samples = await scrape(service);
    expect(sumOf(samples, 'antiphon_turns_total', { status: 'refused' })).toBe(3);
    expect(sumOf(samples, 'antiphon_turn_errors_total', { code: 'other' })).toBe(1);
    expect(sumOf(samples, 'antiphon_turn_errors_total', { code: 'previous_response_not_found' })).toBe(2);
    expect(sumOf(samples, 'antiphon_socket_errors_total', { status: '400', code: 'invalid_json' })).toBe(1);
    const http = { route: '/v1/responses', method: 'POST', status: '400' };
    expect(sumOf(samples, 'antiphon_http_request_seconds_count', http)).toBe(2);
  });

  it('metrics keep the number of series bounded, whatever clients send', async () => {
    for (let number = 0; number < 250; number++) {
      await service.api.post('responses', { model: `model-${number}`, input: 'Hi', generate: number });
      await fetch(`${service.origin}/v1/made-up/${number}`);
    }
    const samples = await scrape(service);
    const models = new Set(
      [...samples.keys()].map((name) => /^antiphon_turns_total\{.*model="([^"]*)"/.exec(name)?.[1]),
    );
    models.delete(undefined);
    expect(models.size).toBe(201);
    expect(sumOf(samples, 'antiphon_turns_total', { model: 'other' })).toBe(50);
    expect([...samples.keys()].filter((name) => name.includes('made-up'))).toEqual([]);
  });

  it('metrics measure the state', async () => {
    await service.client().responses.create(say);
    const saved = { operation: 'responses.save', outcome: 'ok' };
    expect(sumOf(await scrape(service), 'antiphon_state_call_seconds_count', saved)).toBe(1);
  });

  it('metrics count the calls about background responses as operations of `responses`', async () => {
    const { id } = await service.client().responses.create({ ...say, background: true });
    while ((await service.client().responses.retrieve(id)).status !== 'completed') await pause();
    const samples = await scrape(service);
    for (const method of ['create', 'start', 'finish']) {
      const done = { operation: `responses.${method}`, outcome: 'ok' };
      expect(sumOf(samples, 'antiphon_state_call_seconds_count', done)).toBe(1);
    }
  });

  it('metrics count parents that connections remember', async () => {
    await using socket = await SocketClient.open(service);
    socket.create({ input: 'Hi' });
    const { response } = await socket.finish();
    socket.create({ input: 'And?', previous_response_id: response.id });
    await socket.finish();
    expect(sumOf(await scrape(service), 'antiphon_continuation_lookups_total', { result: 'hit' })).toBe(1);
  });

  it('metrics are those of one application, when a process has several', async () => {
    await using other = await startService({ environment: ON, providers: [ScriptedProvider] });
    await other.client().responses.create(say);
    expect(sumOf(await scrape(service), 'antiphon_turns_total')).toBe(0);
    expect(sumOf(await scrape(other), 'antiphon_turns_total')).toBe(1);
  });
});

describe('the metrics route', () => {
  let service: Service;
  afterEach(() => service.close());

  it('the metrics route does not exist unless it is asked for', async () => {
    service = await startService();
    expect((await fetch(`${service.origin}/metrics`)).status).toBe(404);
  });

  it('the metrics route needs the scope admin', async () => {
    service = await startService({ environment: { ...ON, API_KEYS: 'red:key' } });
    expect((await fetch(`${service.origin}/metrics`)).status).toBe(401);
    const refused = await fetch(`${service.origin}/metrics`, { headers: { authorization: 'Bearer key' } });
    expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: 'missing_scope' } }]);
  });

  it('the metrics route is open on a port of its own, which serves nothing else', async () => {
    const port = await freePort();
    service = await startService({
      environment: { METRICS_PORT: port, API_KEYS: 'red:key', METRICS_HOST: '127.0.0.1' },
    });
    const origin = `http://127.0.0.1:${port}`;
    expect(sumOf(await scrape({ origin }), 'antiphon_build_info')).toBe(1);
    for (const [path, method] of [
      ['/v1/models', 'GET'],
      ['/metrics', 'POST'],
    ]) {
      const refused = await fetch(`${origin}${path}`, { method });
      const error = {
        code: 'unknown_url',
        message: expect.stringContaining('This port has only GET /metrics.') as unknown,
      };
      expect([refused.status, await refused.json()]).toMatchObject([404, { error }]);
    }
  });

  it('the metrics route can be read while the state is away', async () => {
    const url = `postgres://nobody@127.0.0.1:${await freePort()}/none`;
    service = await startService({ environment: { ...ON, STATE: 'postgres', DATABASE_URL: url } });
    await expect(service.client().responses.create({ model: 'gpt-5', input: 'Hi' })).rejects.toMatchObject({
      status: 503,
    });
    const samples = await scrape(service);
    expect(sumOf(samples, 'antiphon_turn_errors_total', { code: 'service_unavailable' })).toBe(1);
    expect(samples.has('antiphon_background_queued')).toBe(false);
  });

  it('the metrics route names tenants only where the operator wants it', async () => {
    service = await startService({ environment: { ...ON, METRICS_TENANTS: true } });
    await service.client().responses.create({ model: 'gpt-5', input: 'Hi' });
    expect(sumOf(await scrape(service), 'antiphon_tenant_turns_total', { tenant: 'anybody' })).toBe(1);
  });
});

describe('METRICS_PORT', () => {
  const WORKERS = { STATE: 'postgres', DATABASE_URL: 'postgres://x@127.0.0.1/x', WORKERS: '3' };

  it.each<readonly [variables: Readonly<Record<string, string>>, says: string]>([
    [{ METRICS_PORT: '9464', PORT: '9464' }, 'the metrics take the port 9464, and PORT is 9464'],
    [{ METRICS_PORT: '9464', PORT: '9464', HOST: '::1', METRICS_HOST: '::1' }, 'the metrics take the port 9464'],
    [{ ...WORKERS, METRICS_PORT: '9462', PORT: '9464' }, 'the metrics take the ports 9462 to 9464, and PORT is 9464'],
    [{ ...WORKERS, METRICS_PORT: '65534' }, 'the metrics take the ports 65534 to 65536: choose a lower one'],
  ])('a port of metrics that a worker cannot have is refused at the start: %j', (variables, says) => {
    expect(() => readEnvironment(variables)).toThrow(`METRICS_PORT: ${says}`);
  });

  it.each<Readonly<Record<string, string>>>([
    { METRICS_PORT: '0', PORT: '0' },
    { METRICS_PORT: '9464', PORT: '9464', METRICS_HOST: '127.0.0.2' },
    { ...WORKERS, METRICS_PORT: '9461', PORT: '9464' },
    { ...WORKERS, METRICS_PORT: '65533' },
  ])('a port of metrics that every worker can have is taken: %j', (variables) => {
    expect(() => readEnvironment(variables)).not.toThrow();
  });
});

describe('requests to upstreams', () => {
  let service: RoutedService;
  afterEach(() => service.close());

  it('requests to upstreams are counted once each, as first, retry or fallback, with the code of their error', async () => {
    service = await startRoutedService({
      upstreams: { a: { retries: 1 }, b: { retries: 1 } },
      models: [{ name: 'm', upstreams: [{ provider: 'a', model: 'large' }, { provider: 'b' }] }],
      environment: ON,
      overrides: [
        [Clock, new PausingClock()],
        [Random, new ChosenRandom(0)],
      ],
    });
    service.upstream('a').refuse(500).refuse(500);
    service.upstream('b').refuse(500);
    const { status } = await service.client().responses.create({ model: 'm', input: 'Hi' });
    expect(status).toBe('completed');
    expect(service.asked()).toEqual(['a', 'a', 'b', 'b']);
    const samples = await scrape(service);
    const attempts = (labels: Record<string, string>): number =>
      sumOf(samples, 'antiphon_upstream_attempts_total', labels);
    expect(attempts({})).toBe(4);
    expect(attempts({ provider: 'a', model: 'large', kind: 'first', code: 'server_error' })).toBe(1);
    expect(attempts({ provider: 'b', kind: 'fallback', code: 'server_error' })).toBe(1);
    expect(attempts({ provider: 'b', kind: 'fallback', code: '' })).toBe(1);
    expect(sumOf(samples, 'antiphon_upstream_attempt_seconds_count')).toBe(4);
  });
});
