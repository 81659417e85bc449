import { afterEach, describe, expect, it } from '@jest/globals';

import { Clock, type ModelEvent, type ModelInfo, ModelProvider, ModelProviderBase } from '../../src/index.js';
import { freePort } from '../support/ports.js';
import { textReply } from '../support/chat-upstream/reply.js';
import { ServiceLog } from '../support/service-log.js';
import { PausingClock } from '../support/clocks.js';
import { retrieveModel, whoAnswers } from '../support/routing/ask.js';
import { type RoutedService, startRoutedService } from '../support/routing/routed-service.js';
import { useProvidersFile } from '../support/providers-file.js';
import { type Service, SLOW_REFUSALS } from '../support/service.js';
import { TRANSPORTS } from '../support/transports.js';

/** A member of `/readyz?verbose`. */
interface Condition {
  readonly name: string;
  readonly listed: boolean;
  readonly models: number;
  readonly since: string;
  readonly error: string | null;
}

async function conditions({ origin }: Service): Promise<readonly Condition[]> {
  const answer = await fetch(`${origin}/readyz?verbose`);
  expect(answer.status).toBe(200);
  const { status, providers } = (await answer.json()) as { readonly status: string; readonly providers: Condition[] };
  expect(status).toBe('ready');
  return providers;
}

/** A provider of the program that fails to list, and would tell too much. */
@ModelProvider('vault')
class VaultProvider extends ModelProviderBase {
  override async models(): Promise<readonly ModelInfo[]> {
    throw new Error('no answer of http://vault.internal:9000/list with Bearer hunter2-hunter2');
  }

  override async *generate(): AsyncGenerator<ModelEvent> {
    yield { type: 'finish', reason: 'stop' };
  }
}

describe('a model whose upstream is down', () => {
  // Each test has it load its upstreams.
  const within = useProvidersFile('providers.json', { environment: SLOW_REFUSALS });
  let service: RoutedService;

  afterEach(() => service.close());

  it.each(TRANSPORTS)(
    'a model whose upstream is down is 503, not unknown, while its provider has not listed yet: $name',
    async (transport) => {
      service = await startRoutedService({
        within,
        upstreams: { a: {}, b: {} },
        prepare: (upstream) => void upstream('b').close(),
      });
      const refusal: unknown = await transport
        .run(service, { model: 'm', input: 'Hi' })
        .catch((error: unknown) => error);
      expect(refusal).toMatchObject({
        status: 503,
        body: {
          error: {
            code: 'model_unavailable',
            type: 'service_unavailable_error',
            message: "The model 'm' is not available at the moment. Please retry your request.",
            param: 'model',
          },
        },
      });
    },
  );

  it('a model whose upstream is down is refused with the cause in the log, also before its provider has listed', async () => {
    service = await startRoutedService({
      within,
      upstreams: { a: {} },
      prepare: (upstream) => void upstream('a').close(),
    });
    using log = ServiceLog.begin();
    expect(await whoAnswers(service, 'm')).toBe('model_unavailable');
    expect(log.notes).toEqual([
      expect.stringMatching(/^POST "\/v1\/responses" 503 model_unavailable param="model" cause=ECONNREFUSED /),
    ]);
  });

  it('a model whose upstream is down tells clients when to ask again, and is served once its provider has listed it', async () => {
    service = await startRoutedService({
      within,
      upstreams: { a: {} },
      prepare: (upstream) => upstream('a').listReply(textReply('', '', { status: 502 })),
    });
    service.upstream('a').list([{ id: 'm' }]);
    const answer = await fetch(`${service.baseURL}/models/m`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    // The list is on its way since the first refusal.
    let code = 'model_unavailable';
    while (code === 'model_unavailable') code = await whoAnswers(service, 'm');
    expect(code).toBe('a');
  });

  it('a model is 404 where every provider has listed and none has it, even if one is down since', async () => {
    service = await startRoutedService({ within, upstreams: { a: {}, b: {} } });
    await service.upstream('b').close();
    await fetch(`${service.baseURL}/models`);
    expect(await whoAnswers(service, 'm')).toBe('model_not_found');
    expect(await retrieveModel(service, 'm')).toMatchObject({ status: 404 });
  });

  it('a model is 404 where the list of the provider that is down is not served', async () => {
    service = await startRoutedService({
      within,
      upstreams: { a: {}, b: { discover: false } },
      models: [{ name: 'of-b', provider: 'b' }],
      prepare: (upstream) => void upstream('b').close(),
    });
    expect(await whoAnswers(service, 'm')).toBe('model_not_found');
  });

  it.each(TRANSPORTS)('a model whose upstream is down is 503 where the file routes it: $name', async (transport) => {
    service = await startRoutedService({
      within,
      upstreams: { a: {}, lost: { base_url: 'http://no-such-host.invalid/v1' } },
      models: [
        { name: 'm', upstreams: [{ provider: 'a' }] },
        { prefix: 'lost/', provider: 'lost' },
      ],
      prepare: (upstream) => void upstream('a').close(),
    });
    for (const model of ['m', 'lost/x']) {
      const refusal: unknown = await transport.run(service, { model, input: 'Hi' }).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ status: 503, body: { error: { code: 'model_unavailable' } } });
      expect(JSON.stringify(refusal)).not.toMatch(/127\.0\.0\.1|no-such-host|ECONNREFUSED|ENOTFOUND/);
    }
  });
});

describe('/readyz?verbose', () => {
  const START = Date.UTC(2026, 0, 1);

  it('/readyz?verbose names the providers of the file and of the program, and how they are', async () => {
    const clock = new PausingClock(START);
    await using service = await startRoutedService({
      upstreams: {
        routed: { discover: undefined },
        discovered: {},
        unlisted: { discover: false },
        page: {},
        down: { base_url: `http://127.0.0.1:${await freePort()}/v1` },
      },
      models: [{ name: 'm', provider: 'routed', model: 'one' }],
      providers: [VaultProvider],
      environment: { API_KEYS: 'acme:hunter2-hunter2' },
      overrides: [[Clock, clock]],
      prepare: (upstream) => {
        upstream('routed').list([{ id: 'one' }, { id: 'two' }]);
        upstream('page').listReply(textReply('<html>Sign in at http://gpu.internal</html>', 'text/html'));
      },
    });
    const since = new Date(START).toISOString();
    expect(await conditions(service)).toEqual([
      { name: 'vault', listed: false, models: 0, since, error: 'no answer of [address] with [redacted]' },
      { name: 'routed', listed: true, models: 2, since, error: null },
      { name: 'discovered', listed: true, models: 0, since, error: null },
      { name: 'unlisted', listed: true, models: 0, since, error: null },
      { name: 'page', listed: false, models: 0, since, error: 'the answer is not JSON' },
      { name: 'down', listed: false, models: 0, since, error: 'ECONNREFUSED' },
    ]);
    clock.letGo();
  });

  it('/readyz?verbose says since when a provider is down and up again, from requests that are a few seconds old at most', async () => {
    const clock = new PausingClock(START);
    await using service = await startRoutedService({
      upstreams: { a: {} },
      overrides: [[Clock, clock]],
      prepare: (upstream) => upstream('a').list([{ id: 'm' }]),
    });
    const upstream = service.upstream('a');
    const conditionOfA = async (): Promise<Condition | undefined> => (await conditions(service)).at(-1);
    const at = (ms: number): string => new Date(START + ms).toISOString();
    const expected = { name: 'a', listed: true, models: 1, error: null };
    upstream.listReply(textReply('', '', { status: 502 }));
    expect(await conditionOfA()).toEqual({ ...expected, since: at(0) });
    clock.advance(5000);
    expect(await conditionOfA()).toEqual({ ...expected, since: at(5000), error: 'HTTP 502' });
    clock.advance(5000);
    expect(await conditionOfA()).toEqual({ ...expected, since: at(5000), error: 'HTTP 502' });
    upstream.list([{ id: 'm' }, { id: 'n' }]);
    clock.advance(5000);
    const asked = upstream.listings.length;
    const back = { ...expected, models: 2, since: at(15_000) };
    for (let round = 0; round < 5; round += 1) expect(await conditionOfA()).toEqual(back);
    expect(upstream.listings.length - asked).toBe(1);
    clock.letGo();
  });

  it.each(['', '?verbose=false', '?verbose=0'])(
    'a verbose report must be asked for: /readyz%s requests and tells nothing',
    async (query) => {
      const clock = new PausingClock(START);
      await using service = await startRoutedService({ upstreams: { a: {} }, overrides: [[Clock, clock]] });
      clock.advance(60_000);
      const asked = service.upstream('a').listings.length;
      const answer = await fetch(`${service.origin}/readyz${query}`);
      expect(await answer.text()).toBe('{"status":"ready"}');
      expect(service.upstream('a').listings).toHaveLength(asked);
      clock.letGo();
    },
  );
});

describe('a base_url without /v1', () => {
  it.each<readonly [what: string, path: string, isTold: boolean]>([
    ['is named in one warning', '', true],
    ['is named where a proxy has a path of its own', '/proxy', true],
    ['is not suspected where it has a version', '/v1', false],
    ['is not suspected where it has another version', '/v1beta', false],
  ])('a base_url without /v1 %s: %s', async (_, path, isTold) => {
    const log = new ServiceLog();
    await using service = await startRoutedService({
      upstreams: { a: {} },
      imports: [log.asModule()],
      prepare: (upstream) =>
        void upstream('a')
          .serveBelow(`${path}/v1`)
          .list([{ id: 'm' }]),
    });
    const { port } = service.upstream('a');
    await service.write({ settings: { a: { base_url: `http://127.0.0.1:${port}${path}` } } });
    const listings = service.upstream('a').listings.length;
    await service.reload();
    for (let round = 0; round < 3; round += 1) await fetch(`${service.baseURL}/models`);
    const warnings = log.lines.filter((line) => line.includes('add /v1'));
    log[Symbol.dispose]();
    const hint = "'a' has no list of models at its base_url, but at /v1 below it: add /v1 to its base_url";
    expect(warnings).toEqual(isTold ? [expect.stringContaining(hint)] : []);
    expect(warnings.join('')).not.toContain('127.0.0.1');
    // What is configured stays.
    expect(await whoAnswers(service, 'm')).toBe('model_unavailable');
    expect(service.upstream('a').listings.length - listings).toBe(isTold ? 1 : 0);
  });
});
