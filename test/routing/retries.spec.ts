import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock, Random } from '../../src/index.js';
import type { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { freePort } from '../support/ports.js';
import { refusal } from '../support/chat-upstream/refusals.js';
import { saidIn } from '../support/output.js';
import { PausingClock, WatchedClock } from '../support/clocks.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { ChosenRandom } from '../support/routing/chosen-random.js';
import { type RoutedService, startRoutedService } from '../support/routing/routed-service.js';
import { useProvidersFile } from '../support/providers-file.js';
import { SLOW_REFUSALS } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { openStream } from '../support/sse.js';
import { SSE_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const TURN = { model: 'm', input: 'Go on.' };

const clock = new PausingClock();
const random = new ChosenRandom();
afterAll(() => clock.letGo());
const within = useProvidersFile('providers.json', {
  environment: SLOW_REFUSALS,
  overrides: [
    [Clock, clock],
    [Random, random],
  ],
});
let service: RoutedService;

/** Has the service load these upstreams, the first of which is asked first. */
async function start(upstreams: Readonly<Record<string, object>>, attempts?: number): Promise<void> {
  clock.take();
  random.stay(0.5);
  service = await startRoutedService({
    within,
    upstreams: upstreams as Readonly<Record<string, Readonly<Record<string, unknown>>>>,
    common: {},
    ...(attempts === undefined ? {} : { attempts }),
    models: [{ name: 'm', upstreams: Object.keys(upstreams).map((provider) => ({ provider })) }],
  });
}

const post = (): Promise<Response> =>
  fetch(`${service.baseURL}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(TURN),
  });

describe('a single upstream that fails before its first word', () => {
  afterEach(() => service.close());

  it.each(TRANSPORTS)(
    'a single upstream that fails is asked again after growing pauses on $name',
    async (transport) => {
      await start({ a: { retries: 2 } });
      service
        .upstream('a')
        .refuse(500)
        .answer({ text: 'x' }, { breaks: { after: 1, by: 'cut' } });
      const { response } = await transport.run(service, TURN);
      expect(saidIn(response)).toEqual([{ text: 'a' }]);
      expect(service.asked()).toEqual(['a', 'a', 'a']);
      expect(clock.take()).toEqual([200, 400]);
      const bodies = service.upstream('a').requests.map(({ body }) => body);
      expect(bodies).toEqual([bodies[0], bodies[0], bodies[0]]);
    },
  );

  it.each([
    [{}, 3],
    [{ retries: 0 }, 1],
    [{ retries: 1 }, 2],
    [{ retries: 5 }, 6],
    [{ retries: 12 }, 13],
  ])('a single upstream that fails is asked as often as the file says: %j', async (settings, times) => {
    await start({ a: settings }, 20);
    service.upstream('a').alwaysRespond(refusal(502));
    expect((await post()).status).toBe(500);
    expect(service.upstream('a').requests).toHaveLength(times);
    const pauses = clock.take();
    expect(pauses).toHaveLength(times - 1);
    expect(pauses).toEqual(pauses.map((_, round) => Math.min(200 * 2 ** round, 10_000)));
  });

  it.each([
    [0, [180, 360]],
    [0.5, [200, 400]],
    [1, [220, 440]],
  ])('a single upstream that fails is asked again a little earlier or later, by chance: %d', async (chance, pauses) => {
    await start({ a: {} });
    random.stay(chance);
    service.upstream('a').alwaysRespond(refusal(500));
    await post();
    expect(clock.take().map(Math.round)).toEqual(pauses);
  });

  it('a single upstream that fails is asked again when it refuses connections', async () => {
    await start({ a: { base_url: `http://127.0.0.1:${await freePort()}/v1` } });
    const answer = await post();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await answer.json()).toMatchObject({ error: { code: 'model_unavailable' } });
    expect(clock.take()).toEqual([200, 400]);
  });

  it.each<readonly [what: string, headers: Record<string, string | (() => string)>, pause: number]>([
    ['seconds', { 'retry-after': '3' }, 3000],
    ['milliseconds', { 'retry-after-ms': '2500' }, 2500],
    ['a date', { 'retry-after': () => new Date(clock.now() + 4000).toUTCString() }, 4000],
    ['a moment that is shorter than its pause', { 'retry-after-ms': '10' }, 200],
    ['no time at all', { 'retry-after': '0' }, 200],
    ['the longest that is waited for', { 'retry-after': '10' }, 10_000],
  ])('a single upstream that fails is asked again when it wants to be: %s', async (_, headers, pause) => {
    await start({ a: {} });
    // Dates have whole seconds.
    clock.advance(1000 - (clock.now() % 1000));
    const said = Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : value()]);
    service.upstream('a').refuse(503, 'openai', Object.fromEntries(said) as Record<string, string>);
    expect((await post()).status).toBe(200);
    expect(clock.take()).toEqual([pause]);
  });

  it.each([
    ['11', '11'],
    ['3600', '3600'],
    ['10.5', '11'],
  ])(
    'a single upstream that fails is not asked again when that takes too long, and the client is told: %s s',
    async (seconds, told) => {
      await start({ a: {} });
      service.upstream('a').refuse(503, 'openai', { 'retry-after': seconds });
      const answer = await post();
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, told]);
      expect(await answer.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
      expect(service.asked()).toEqual(['a']);
      expect(clock.take()).toEqual([]);
    },
  );

  it.each([429, 401, 402, 403, 404, 400, 413, 422])(
    'a single upstream that fails is not asked again after %i',
    async (status) => {
      await start({ a: {} });
      service.upstream('a').refuse(status, 'openai', { 'retry-after': '1' });
      expect((await post()).status).not.toBe(200);
      expect(service.asked()).toEqual(['a']);
      expect(clock.take()).toEqual([]);
    },
  );

  it.each([
    [{ retries: 20 }, undefined, 6],
    [{ retries: 20 }, 3, 3],
    [{ retries: 20 }, 1, 1],
    [{}, 2, 2],
  ])(
    'a single upstream that fails is asked no more often than a turn may ask: %j, attempts: %s',
    async (settings, attempts, times) => {
      await start({ a: settings }, attempts);
      service.upstream('a').alwaysRespond(refusal(500));
      expect((await post()).status).toBe(500);
      expect(service.asked()).toHaveLength(times);
      expect(clock.take()).toHaveLength(times - 1);
    },
  );

  it('a single upstream that fails is not asked again after its first word', async () => {
    await start({ a: {} });
    service.upstream('a').answer({ text: ['One', ' two'] }, { breaks: { after: 2, by: 'cut' } });
    const { response } = await SSE_TRANSPORT.run(service, TURN);
    expect(response.status).toBe('failed');
    expect(service.asked()).toEqual(['a']);
    expect(clock.take()).toEqual([]);
  });
});

describe('several upstreams that fail before their first word', () => {
  let order: string[];

  /** Lets an upstream refuse, once for each status, and notes when. */
  function refuses(name: string, statuses: readonly number[], headers: Readonly<Record<string, string>> = {}): void {
    const upstream: ChatUpstream = service.upstream(name);
    for (const status of statuses) {
      upstream.respond(() => {
        order.push(`${name} ${status}`);
        return refusal(status, 'openai', headers);
      });
    }
  }

  async function startSeveral(upstreams: Readonly<Record<string, object>>): Promise<void> {
    order = [];
    await start(upstreams);
    random.stay(0);
  }

  afterEach(() => service.close());

  it('several upstreams that fail are all asked before anybody is asked again, and then in the same order', async () => {
    await startSeveral({ a: { retries: 1 }, b: { retries: 1 } });
    refuses('a', [500, 502]);
    refuses('b', [503, 504]);
    expect((await post()).status).toBe(503);
    expect(order).toEqual(['a 500', 'b 503', 'a 502', 'b 504']);
    expect(clock.take()).toEqual([180]);
  });

  it('several upstreams that fail are asked again as often as each of them allows', async () => {
    await startSeveral({ a: { retries: 0 }, b: { retries: 2 }, c: { retries: 1 } });
    for (const name of ['a', 'b', 'c']) refuses(name, [500, 500, 500]);
    expect((await post()).status).toBe(500);
    expect(order).toEqual(['a 500', 'b 500', 'c 500', 'b 500', 'c 500', 'b 500']);
    expect(clock.take()).toEqual([180, 360]);
  });

  it('several upstreams that fail are asked again only where that may help', async () => {
    await startSeveral({ a: {}, b: {}, c: {} });
    refuses('a', [401]);
    refuses('b', [429]);
    refuses('c', [500]);
    expect((await post()).status).toBe(200);
    expect(service.asked()).toEqual(['a', 'b', 'c', 'c']);
  });

  it('upstreams that fail are not waited for by a turn that asks another one again sooner', async () => {
    await startSeveral({ a: {}, b: {} });
    refuses('a', [500]);
    refuses('b', [429], { 'retry-after': '30' });
    expect((await post()).status).toBe(200);
    expect(service.asked()).toEqual(['a', 'a', 'b']);
    expect(clock.take()).toEqual([180]);
  });
});

describe('a turn that waits to ask again', () => {
  const PAUSE_MS = 200;
  let watched: WatchedClock;
  let observer: RecordingObserver;

  beforeEach(() => {
    watched = new WatchedClock();
    observer = new RecordingObserver();
  });

  const startWaiting = (): Promise<RoutedService> =>
    startRoutedService({
      upstreams: { a: { retries: 2 } },
      models: [{ name: 'm', provider: 'a' }],
      environment: { SSE_KEEPALIVE_MS: 100_000, WS_KEEPALIVE_MS: 100_000 },
      imports: [observer.asModule()],
      overrides: [
        [Clock, watched],
        [Random, new ChosenRandom()],
      ],
      prepare: (upstream) => upstream('a').refuse(500),
    });

  it.each(['json', 'sse', 'ws'])(
    'a turn that waits to ask again ends at once when its client leaves on %s, and nobody is asked any more',
    async (kind) => {
      const waiting = await startWaiting();
      const pause = watched.whenScheduled(PAUSE_MS);
      const leave = await begin(kind, waiting);
      await pause;
      await leave();
      expect(await observer.whenSettled(1)).toMatchObject([{ status: 'disconnected', provider: 'a' }]);
      watched.advance(60_000);
      watched.letGo();
      await waiting.close();
      expect(waiting.asked()).toEqual(['a']);
    },
  );

  async function begin(kind: string, { baseURL, port }: RoutedService): Promise<() => Promise<unknown>> {
    if (kind === 'ws') {
      const client = await SocketClient.open({ port });
      client.create(TURN);
      return () => client[Symbol.asyncDispose]();
    }
    const hangUp = new AbortController();
    const { signal } = hangUp;
    const turn = kind === 'sse' ? openStream(`${baseURL}/responses`, TURN, { signal }) : postWith(baseURL, signal);
    const ended = turn.catch((error: unknown) => error);
    return async () => {
      hangUp.abort();
      await ended;
    };
  }

  function postWith(baseURL: string, signal: AbortSignal): Promise<unknown> {
    const headers = { 'content-type': 'application/json' };
    return fetch(`${baseURL}/responses`, { method: 'POST', headers, body: JSON.stringify(TURN), signal });
  }
});
