import { describe, expect, it } from '@jest/globals';

import { Clock, Random } from '../../src/index.js';
import { freePort } from '../support/ports.js';
import { ServiceLog } from '../support/service-log.js';
import { useFreshService } from '../support/describe-service.js';
import { PausingClock } from '../support/clocks.js';
import { ChosenRandom } from '../support/routing/chosen-random.js';
import { message } from '../support/responses-upstream/items.js';
import { cutting, failing, refusing, type Reply, type Responder } from '../support/responses-upstream/reply.js';
import {
  ask,
  MODEL,
  shareTimedService,
  startResponsesService,
  startTimedService,
} from '../support/responses-upstream/start-responses-service.js';
import { textOf } from '../support/output.js';

// Each test has it load what it needs.
const loadTimed = shareTimedService();

const SSE = {};
const WEBSOCKET = { supports_websockets: true };
const FEBRUARY = { profile: 'codex-2026-02', features: { responses_websockets: true } };
const BROKEN = failing({ code: 'server_error', message: 'Broken.' });

const TURN = { model: MODEL, input: 'Hi' };

describe.each([
  ['SSE', SSE],
  ['WebSocket', WEBSOCKET],
] as const)('§5.1 retries over %s', (_, entry) => {
  const service = useFreshService(() => loadTimed({ entry: { ...entry } }));

  it('retries are as many as stream_max_retries, after 200 ms × 2ⁿ', async () => {
    service.upstream.respond(BROKEN, BROKEN, BROKEN, BROKEN, BROKEN);
    expect(textOf((await ask(service)).response)).toBe('ok');
    expect(service.clock.take()).toEqual([200, 400, 800, 1600, 3200]);
    expect(new Set(service.upstream.calls.map(({ transport }) => transport)).size).toBe(1);
  });

  it('retries are said in the log: Reconnecting… n/max', async () => {
    using log = ServiceLog.begin();
    service.upstream.respond(BROKEN, BROKEN);
    await ask(service);
    expect([...log.complaints, ...log.notes].join('\n')).toContain('Reconnecting... 1/5');
  });

  it('retries are left to another upstream of the model, if there is one; the last one repeats', async () => {
    const upstreams = ['one', 'two'].map((model) => ({ provider: 'upstream', model }));
    await using routed = await loadTimed({ entry: { ...entry }, models: [{ name: MODEL, upstreams }] });
    routed.upstream.respond(BROKEN, BROKEN);
    expect(textOf((await ask(routed)).response)).toBe('ok');
    expect(routed.clock.take()).toEqual([200]);
    const [first, second, third] = routed.upstream.calls.map(({ body }) => body.model);
    expect(first).not.toBe(second);
    expect(third).toBe(second);
    expect(new Set(routed.upstream.calls.map(({ transport }) => transport)).size).toBe(1);
  });

  it('retries repeat the same request', async () => {
    service.upstream.respond(BROKEN, BROKEN);
    await ask(service, { instructions: 'Be kind.' });
    const [first, ...others] = service.upstream.calls;
    for (const { body } of others) expect(body).toEqual(first?.body);
  });

  it('retries do not happen after output was forwarded: the response fails', async () => {
    service.upstream.respond(cutting([message('Hello')], 5, 'reset'));
    const { response, events = [] } = await ask(service);
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(events.filter(({ type }) => type.endsWith('.delta'))).toHaveLength(1);
    expect(service.upstream.calls).toHaveLength(1);
    expect(service.clock.take()).toEqual([]);
  });

  it('retries do not happen after output either when the upstream says that it failed', async () => {
    service.upstream.answer([message('Hello')], {
      terminal: 'response.failed',
      response: { error: { code: 'rate_limit_exceeded', message: 'Please try again in 1s.' } },
    });
    const { response } = await ask(service);
    expect(response).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded' } });
    expect(textOf(response)).toBe('Hello');
    expect(service.upstream.calls).toHaveLength(1);
  });

  it('retries stop when the client hangs up', async () => {
    const aborter = new AbortController();
    service.upstream.respond((call) => {
      aborter.abort();
      return BROKEN(call);
    });
    const turn = fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(TURN),
      signal: aborter.signal,
    });
    await expect(turn).rejects.toThrow();
  });

  it('retries are forbidden to the SDK once the service has made some, and those of the SDK are not multiplied', async () => {
    service.upstream.always(BROKEN);
    const client = service.client({ maxRetries: 5 });
    await expect(client.responses.create(TURN)).rejects.toMatchObject({ status: 500 });
    // Over a socket, those of HTTP follow after the fallback.
    expect(service.upstream.calls).toHaveLength(entry === SSE ? 6 : 12);
    const { headers } = await service.api.post('responses', TURN);
    expect(headers.get('x-should-retry')).toBe('false');
  });

  it('retries fit into retry_budget_ms together, over both transports', async () => {
    await using short = await loadTimed({ entry: { ...entry, retry_budget_ms: 1000 } });
    short.upstream.always(BROKEN);
    const { status, headers } = await short.api.post('responses', TURN);
    expect([status, headers.get('x-should-retry')]).toEqual([500, 'false']);
    const pauses = short.clock.take();
    expect(pauses.slice(0, 2)).toEqual([200, 400]);
    expect(pauses.reduce((sum, pause) => sum + pause, 0)).toBeLessThanOrEqual(1000);
  });

  it('retries do not begin when the upstream asks for more time than the budget has', async () => {
    await using short = await loadTimed({ entry: { ...entry, retry_budget_ms: 1000 } });
    short.upstream.respond(failing({ code: 'rate_limit_exceeded', message: 'Please try again in 30s.' }));
    const { status, headers, body } = await short.api.post('responses', TURN);
    expect([status, body]).toMatchObject([429, { error: { code: 'rate_limit_exceeded' } }]);
    expect([headers.get('retry-after'), headers.get('x-should-retry')]).toEqual(['30', null]);
    expect(short.clock.take()).toEqual([]);
  });

  it.each([
    ['nothing', { stream_max_retries: 0, request_max_retries: 0 }, 1],
    ['twice', { stream_max_retries: 2 }, 3],
  ])('retries happen as often as the entry says: %s', async (__, settings, times) => {
    await using other = await loadTimed({ entry: { ...entry, ...settings } });
    other.upstream.always(BROKEN);
    await other.api.post('responses', TURN);
    expect(other.upstream.calls).toHaveLength(entry === SSE ? times : times * 2);
  });
});

describe('§5.1 retries of an HTTP request', () => {
  const service = useFreshService(() => loadTimed({ entry: { request_max_retries: 2, stream_max_retries: 1 } }));

  it('retries of an HTTP request come before its answer, with pauses of their own, and again for every retry of the stream', async () => {
    service.upstream.always(refusing(502));
    await service.api.post('responses', TURN);
    expect(service.upstream.calls).toHaveLength(6);
    expect(service.clock.take()).toEqual([200, 400, 200, 200, 400]);
  });

  it('retries of an HTTP request come for connections that are refused', async () => {
    const port = await freePort();
    await using other = await startTimedService({
      entry: { request_max_retries: 2, stream_max_retries: 0, base_url: `http://127.0.0.1:${port}/v1` },
    });
    expect((await other.api.post('responses', TURN)).status).toBe(503);
    expect(other.clock.take()).toEqual([200, 400]);
  });
});

describe('§5.1 the jitter', () => {
  it.each([
    [0, 180],
    [1, 220],
  ])('the jitter is ten percent: drawn %f', async (drawn, pause) => {
    const clock = new PausingClock();
    await using service = await startResponsesService({
      overrides: [
        [Clock, clock],
        [Random, new ChosenRandom(drawn)],
      ],
    });
    service.upstream.respond(BROKEN);
    await ask(service);
    expect(clock.take()[0]).toBeCloseTo(pause);
    clock.letGo();
  });
});

describe('§5.1 the pause that the upstream asks for', () => {
  const wait = (code: string, text: string): Responder => failing({ code, message: text });

  it.each<[name: string, entry: object, reply: Reply | Responder, pause: number]>([
    ['seconds in the text', SSE, wait('rate_limit_exceeded', 'Please try again in 1.2s.'), 1200],
    ['milliseconds in the text', SSE, wait('rate_limit_exceeded', 'Try again in 300ms'), 300],
    ['a word in the text', WEBSOCKET, wait('rate_limit_exceeded', 'try again in 7 seconds'), 7000],
    ['the text of slow_down (codex-2026-11)', SSE, wait('slow_down', 'Please try again in 2s.'), 2000],
    ['no text of slow_down (codex-2026-02)', FEBRUARY, wait('slow_down', 'Please try again in 2s.'), 200],
    ['no text of another code', SSE, wait('server_error', 'Please try again in 2s.'), 200],
    ['retry-after of a status', SSE, refusing(503, {}, { 'retry-after': '3' }), 3000],
    ['retry-after of a 429', SSE, refusing(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '4' }), 4000],
    ['retry-after of an error frame', WEBSOCKET, refusing(503, {}, { 'retry-after': '3' }), 3000],
    [
      'headers of the error itself',
      SSE,
      failing({ code: 'server_is_overloaded', message: 'Busy.', headers: { 'retry-after': '5' } }),
      5000,
    ],
    ['no header (codex-2026-02)', FEBRUARY, refusing(503, {}, { 'retry-after': '3' }), 200],
  ])('the pause that the upstream asks for is read from %s', async (_, entry, reply, pause) => {
    await using service = await loadTimed({ entry: { ...entry } });
    service.upstream.respond(reply);
    expect(textOf((await ask(service)).response)).toBe('ok');
    expect(service.clock.take()).toEqual([pause]);
  });
});
