import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { RecordingObserver } from '../support/recording-observer.js';
import type { WireEvent } from '../../src/testing/index.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { openStream, postJson } from '../support/sse.js';
import { askFor, deltasOf } from '../support/simulator-requests.js';
import { TRANSPORTS } from '../support/transports.js';
import { WatchedClock } from '../support/clocks.js';

const IDLE_MS = 12_000;
/** How long a slow start takes by itself. */
const SLOW_START_MS = 10_000;
/** What a pause without end is to a clock. */
const ENDLESS_MS = 2_147_483_647;
const TIMEOUT = { code: 'server_error', message: 'The model did not answer in time. Please retry your request.' };

/** A service whose clock stands still. */
interface Delayed {
  readonly clock: WatchedClock;
  readonly observer: RecordingObserver;
  readonly service: Service;
}

async function startDelayed(environment: object): Promise<Delayed> {
  const clock = new WatchedClock();
  const observer = new RecordingObserver();
  const service = await startService({
    imports: [observer.asModule()],
    overrides: [[Clock, clock]],
    environment: {
      // The usage of a turn that is not stored waits for others a while.
      USAGE_RETENTION_DAYS: 0,
      SIMULATOR_CONTROL: true,
      MODEL_IDLE_TIMEOUT_MS: IDLE_MS,
      MODEL_ACCEPT_TIMEOUT_MS: 0,
      ...environment,
    },
  });
  return { clock, observer, service };
}

describe('a simulated delay', () => {
  let { clock, observer, service }: Delayed = {} as Delayed;
  /** By the environment: each is started for the first of its tests. */
  const started = new Map<string, Delayed>();

  /** Has the test go on with a service of this environment. */
  const use = async (environment: object): Promise<void> => {
    const name = JSON.stringify(environment);
    const delayed = started.get(name) ?? (await startDelayed(environment));
    started.set(name, delayed);
    ({ clock, observer, service } = delayed);
    observer.forget();
  };

  beforeEach(() => use({}));

  afterAll(async () => {
    for (const delayed of started.values()) {
      delayed.clock.letGo();
      await delayed.service.close();
    }
  });

  /** Takes a stream and hears each of its events. */
  const listen = async (body: object, signal?: AbortSignal): Promise<Listener> => {
    const options = signal === undefined ? {} : { signal };
    const answer = await openStream(`${service.baseURL}/responses`, body, options);
    if (!answer.streams) throw new Error(`no stream but HTTP ${answer.status}`);
    return hear(answer.events);
  };

  describe('before the first word', () => {
    it.each([
      ['takes ten seconds', {}, 'fault=slow_start', SLOW_START_MS],
      ['takes what the request says', {}, 'fault=slow_start; for=3000', 3000],
      ['is shorter at a higher speed', { SIMULATOR_SPEED: '4' }, 'fault=slow_start', SLOW_START_MS / 4],
      ['is as fast as the request says', { SIMULATOR_SPEED: '4' }, 'fault=slow_start; speed=0.5; for=1000', 2000],
      ['befalls every turn at rate 1', { SIMULATOR_FAULTS: 'slow_start=1' }, '', SLOW_START_MS],
    ])('a simulated delay before the first word %s', async (_, environment, control, delayMs) => {
      await use(environment);
      const paused = clock.whenScheduled(delayMs);
      const listening = listen(askFor(control));
      await paused;
      clock.advance(0);
      const { events, ended } = await listening;
      clock.advance(delayMs - 1);
      for (let loopTurn = 0; loopTurn < 20; loopTurn += 1) await nextLoopTurn();
      expect(events.every(({ type }) => !type.endsWith('.delta'))).toBe(true);
      expect(observer.records).toHaveLength(0);
      clock.advance(1);
      await ended;
      expect(events.at(-1)?.type).toBe('response.completed');
    });

    it.each(TRANSPORTS)('a simulated delay changes nothing else on $name', async (transport) => {
      const usual = await transport.run(service, askFor(''));
      const paused = clock.whenScheduled(SLOW_START_MS);
      const slow = transport.run(service, askFor('fault=slow_start'));
      await paused;
      clock.advance(SLOW_START_MS);
      const { response } = await slow;
      expect(response.status).toBe('completed');
      expect(contentOf(response['output'])).toEqual(contentOf(usual.response['output']));
      expect(response['usage']).toEqual(usual.response['usage']);
    });

    it('a simulated delay ends a time-out with a refusal', async () => {
      const paused = clock.whenScheduled(5000);
      const answer = postJson(`${service.baseURL}/responses`, askFor('fault=timeout; for=5000'));
      await paused;
      expect(observer.records).toHaveLength(0);
      clock.advance(5000);
      expect(await answer).toMatchObject({ status: 504, body: { error: { code: 'server_error' } } });
    });

    it('a simulated delay ends a silence that lasts as long as asked for with the answer', async () => {
      const paused = clock.whenScheduled(5000);
      const answer = postJson(`${service.baseURL}/responses`, askFor('fault=silence; for=5000'));
      await paused;
      clock.advance(5000);
      expect(await answer).toMatchObject({ status: 200, body: { status: 'completed' } });
    });

    it.each(['', 'fault=silence'])(
      'a simulated delay ends with MODEL_IDLE_TIMEOUT_MS where the model never answers: "%s"',
      async (control) => {
        await use(control === '' ? { SIMULATOR_FAULTS: 'silence=1' } : {});
        const paused = clock.whenScheduled(ENDLESS_MS);
        const listening = listen(askFor(control));
        await paused;
        clock.advance(0);
        const { events, ended } = await listening;
        clock.advance(IDLE_MS);
        await ended;
        expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { error: TIMEOUT, output: [] } });
        expect(deltasOf(events)).toHaveLength(0);
      },
    );

    it('a simulated delay comes later where deltas are counted', async () => {
      const paused = clock.whenScheduled(SLOW_START_MS);
      const { events, ended } = await listen(askFor('fault=slow_start; after=2'));
      await paused;
      await untilDeltas(events, 2);
      clock.advance(SLOW_START_MS);
      await ended;
      expect(events.at(-1)?.type).toBe('response.completed');
    });
  });

  describe('in the middle', () => {
    it.each([
      ['lasts as long as asked for', {}, 'fault=stall; after=2; for=5000', 5000],
      ['is shorter at a higher speed', { SIMULATOR_SPEED: '4' }, 'fault=stall; after=2; for=5000', 1250],
      ['comes with the end of a short answer', {}, 'fault=stall; after=100000; for=5000', 5000],
    ])('a simulated delay in the middle %s', async (_, environment, control, delayMs) => {
      await use(environment);
      const paused = clock.whenScheduled(delayMs);
      const { events, ended } = await listen(askFor(control));
      await paused;
      await untilDeltas(events, 2);
      clock.advance(delayMs - 1);
      for (let loopTurn = 0; loopTurn < 20; loopTurn += 1) await nextLoopTurn();
      if (control.includes('after=2')) expect(deltasOf(events)).toHaveLength(2);
      expect(observer.records).toHaveLength(0);
      clock.advance(1);
      await ended;
      expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } });
      expect(deltasOf(events).length).toBeGreaterThan(10);
    });

    it.each(TRANSPORTS)('a simulated delay ends with MODEL_IDLE_TIMEOUT_MS on $name', async (transport) => {
      const paused = clock.whenScheduled(ENDLESS_MS);
      const turn = transport.run(service, askFor('fault=stall; after=3'));
      await paused;
      await nextLoopTurn();
      clock.advance(IDLE_MS - 1);
      await nextLoopTurn();
      expect(observer.records).toHaveLength(0);
      clock.advance(1);
      const { events, response } = await turn;
      expect(response).toMatchObject({ status: 'failed', error: TIMEOUT, output: [{ status: 'incomplete' }] });
      if (events !== undefined) expect(deltasOf(events)).toHaveLength(3);
    });

    it.each(['', 'fault=stall'])(
      'a simulated delay comes after one to ten deltas at rate 1, and has no end: "%s"',
      async (control) => {
        await use(control === '' ? { SIMULATOR_FAULTS: 'stall=1' } : {});
        const paused = clock.whenScheduled(ENDLESS_MS);
        const { events, ended } = await listen(askFor(control));
        await paused;
        await nextLoopTurn();
        clock.advance(IDLE_MS);
        await ended;
        expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { error: TIMEOUT } });
        expect(deltasOf(events).length).toBeGreaterThanOrEqual(1);
        expect(deltasOf(events).length).toBeLessThanOrEqual(10);
      },
    );

    /** Ways for a client to leave in the middle of a stall. */
    const leaving: readonly (readonly [transport: string, leave: () => Promise<void>])[] = [
      [
        'json',
        async () => {
          const client = new AbortController();
          const paused = clock.whenScheduled(ENDLESS_MS);
          const answer = postJson(`${service.baseURL}/responses`, askFor('fault=stall'), { signal: client.signal });
          await paused;
          client.abort();
          await expect(answer).rejects.toThrow('aborted');
        },
      ],
      [
        'sse',
        async () => {
          const client = new AbortController();
          const paused = clock.whenScheduled(ENDLESS_MS);
          const { ended } = await listen(askFor('fault=stall'), client.signal);
          await paused;
          client.abort();
          await expect(ended).rejects.toThrow('aborted');
        },
      ],
      [
        'ws',
        async () => {
          const client = await SocketClient.open(service);
          const paused = clock.whenScheduled(ENDLESS_MS);
          client.create(askFor('fault=stall'));
          await paused;
          client.socket.terminate();
          await client.closed;
        },
      ],
    ];

    it.each(leaving)(
      'a simulated delay ends when its client leaves on %s, and leaves no timer behind',
      async (_, leave) => {
        const before = clock.pending;
        await leave();
        expect(await observer.whenSettled(1)).toMatchObject([{ status: 'disconnected', errorCode: null }]);
        const { responseId } = observer.records[0] ?? { responseId: '' };
        expect((await fetch(`${service.baseURL}/responses/${responseId}`)).status).toBe(404);
        // The service hears of the end of a connection after the client.
        while (clock.pending !== before) await nextLoopTurn();
      },
    );
  });
});

interface Listener {
  readonly events: readonly WireEvent[];
  readonly ended: Promise<void>;
}

function hear(stream: AsyncIterable<WireEvent>): Listener {
  const events: WireEvent[] = [];
  const ended = (async () => {
    for await (const event of stream) events.push(event);
  })();
  ended.catch(() => undefined);
  return { events, ended };
}

async function untilDeltas(events: readonly WireEvent[], count: number): Promise<void> {
  while (deltasOf(events).length < count) await nextLoopTurn();
}

function contentOf(output: unknown): unknown {
  return (output as readonly { readonly content: unknown }[]).map(({ content }) => content);
}
