import { afterAll, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { message } from '../support/responses-upstream/items.js';
import { type Step, streaming } from '../support/responses-upstream/reply.js';
import { MODEL, startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { toEvents } from '../support/responses-upstream/to-events.js';
import type { WireEvent } from '../../src/testing/index.js';
import { SocketClient } from '../support/socket-client.js';
import { openStream } from '../support/sse.js';
import { WatchedClock } from '../support/clocks.js';

/** A length that no other timer has. */
const PATIENCE_MS = 1234;

const STATE = { 'x-codex-turn-state': 'state-1' };
const ETAG = { 'x-models-etag': 'W/"7"' };
const INCLUDED = { 'x-reasoning-included': 'true' };
const LIMITS = {
  'x-codex-primary-used-percent': '42.5',
  'x-codex-primary-window-minutes': '300',
  'x-codex-primary-reset-at': '1900000000',
};
const LIMITS_EVENT = {
  type: 'codex.rate_limits',
  rate_limits: { primary: { used_percent: 42.5, window_minutes: 300, reset_at: 1_900_000_000 }, secondary: null },
};

type Profile = 'codex-2026-11' | 'codex-2026-02';
type Way = 'sse' | 'websocket';

const WAYS: readonly Way[] = ['sse', 'websocket'];
const PROFILES: readonly Profile[] = ['codex-2026-11', 'codex-2026-02'];
const CROSSINGS = PROFILES.flatMap((profile) => WAYS.map((upstreamWay) => [profile, upstreamWay] as const));

describe.each(CROSSINGS)('what Codex must hear, with %s from an upstream over %s', (profile, upstreamWay) => {
  const clock = new WatchedClock();
  // Before it closes.
  afterAll(() => clock.letGo());
  const isSocket = upstreamWay === 'websocket';
  const service = useService(() =>
    startResponsesService({
      entry: { profile, supports_websockets: isSocket, features: { responses_websockets: true } },
      environment: { MODEL_ACCEPT_TIMEOUT_MS: PATIENCE_MS },
      overrides: [[Clock, clock]],
    }),
  );

  /** What the upstream says before its events, where this profile reads it. */
  const said = (): { readonly headers: Readonly<Record<string, string>>; readonly steps: readonly Step[] } => {
    if (!isSocket) return { headers: { ...STATE, ...ETAG, ...INCLUDED, ...LIMITS }, steps: [] };
    const isInEvents = profile === 'codex-2026-11';
    const state = { type: 'response.metadata', headers: STATE };
    const etag = { type: 'codex.response.metadata', headers: ETAG };
    return {
      headers: { ...INCLUDED, ...(isInEvents ? {} : STATE) },
      steps: [...(isInEvents ? [state] : []), etag, LIMITS_EVENT],
    };
  };

  /** The upstream says what it says first, and its output once `output` resolves. A new conversation has a new socket. */
  const play = (output: Promise<unknown>): void => {
    const { headers, steps } = said();
    if (isSocket) service.upstream.onEveryUpgrade(headers);
    service.upstream.respond(({ responseId }) => {
      const events = toEvents(responseId, [message('Hello')]);
      return streaming([...steps, ...events.slice(0, 2), { until: output }, ...events.slice(2)], { headers });
    });
  };

  /** Begins a turn. Its output is there at once, or not before `letGo`, long after the client's patience. */
  const begin = async <T>(when: 'at once' | 'late', start: () => Promise<T>): Promise<[T, letGo: () => void]> => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    play(promise);
    if (when === 'at once') resolve(undefined);
    const scheduled = clock.whenScheduled(PATIENCE_MS);
    const started = start();
    if (when === 'late') {
      await scheduled;
      clock.advance(PATIENCE_MS);
    }
    return [await started, () => resolve(undefined)];
  };

  it.each(['at once', 'late'] as const)(
    'what Codex must hear is in the headers of a stream, output %s',
    async (when) => {
      const [answer, letGo] = await begin(when, () =>
        openStream(`${service.baseURL}/responses`, { model: MODEL, input: 'Hi', prompt_cache_key: `sse ${when}` }),
      );
      expect(Object.fromEntries(answer.headers)).toMatchObject({ ...STATE, ...ETAG, ...INCLUDED, ...LIMITS });
      letGo();
      const types: string[] = [];
      if (answer.streams) for await (const { type } of answer.events) types.push(type);
      expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.completed']);
    },
  );

  it('what Codex must hear is in the headers of a JSON answer', async () => {
    play(Promise.resolve());
    const { headers } = await service.api.post('responses', { model: MODEL, input: 'Hi', prompt_cache_key: 'json' });
    expect(Object.fromEntries(headers)).toMatchObject({ ...STATE, ...ETAG, ...INCLUDED, ...LIMITS });
  });

  it.each(['at once', 'late'] as const)(
    'what Codex must hear comes before any event of a turn on a socket, output %s',
    async (when) => {
      await using client = await SocketClient.open(service);
      const [before, letGo] = await begin(when, async () => {
        client.create({ model: MODEL, input: 'Hi', prompt_cache_key: `ws ${when}` });
        const frames: WireEvent[] = [];
        do frames.push(await client.next());
        while (frames.at(-1)?.type !== 'response.created');
        return frames.slice(0, -1);
      });
      expect(before[0]).toMatchObject({ type: 'response.metadata', headers: { ...STATE, ...ETAG, ...INCLUDED } });
      expect(before.slice(1)).toMatchObject([{ type: 'codex.response.metadata', headers: ETAG }, LIMITS_EVENT]);
      letGo();
      expect(await client.nextEnd()).toMatchObject({ type: 'response.completed' });
    },
  );

  it('what Codex must hear is in the handshakes of sockets, as far as the next answer will say the same', async () => {
    play(Promise.resolve());
    await service.api.post('responses', { model: MODEL, input: 'Hi', prompt_cache_key: 'handshake' });
    const given = Promise.withResolvers<unknown>();
    const client = SocketClient.open(service, {
      finishRequest: (request) => {
        request.once('upgrade', ({ headers }) => given.resolve(headers['x-reasoning-included']));
        request.end();
      },
    });
    expect(await given.promise).toBe('true');
    await (await client).close();
  });
});
