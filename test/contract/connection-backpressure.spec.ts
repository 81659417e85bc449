import type { Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { whenStill } from '../support/chat-upstream/when-still.js';
import { ConnectionTracker } from '../support/connection-tracker.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { WatchedClock } from '../support/clocks.js';

const MEGABYTE = 1024 * 1024;
/** How long a client that has left too much unread may take nothing, and then not answer the close, ms. */
const STANDSTILL = 1000;

let service: Service;
let clock: WatchedClock;
let observer: RecordingObserver;
let provider: ScriptedProvider;
let tracker: ConnectionTracker;

async function start(environment: Readonly<Record<string, unknown>> = {}): Promise<void> {
  clock = new WatchedClock();
  observer = new RecordingObserver();
  service = await startService({
    providers: [ScriptedProvider],
    imports: [observer.asModule()],
    overrides: [[Clock, clock]],
    // The usage of a turn that is not stored waits for others a while.
    environment: { USAGE_RETENTION_DAYS: 0, ...environment },
  });
  provider = service.app.get(ScriptedProvider);
  tracker = new ConnectionTracker(service);
}

/** The TCP connection of a client, which it can stop reading from. */
function transportOf({ socket }: SocketClient): Socket {
  return (socket as unknown as { readonly _socket: Socket })._socket;
}

afterEach(async () => {
  clock.letGo();
  await service.close();
});

describe('a client that stops reading', () => {
  /** Far more than the kernel takes on both sides, were nobody held back. */
  const BATCHES = 2000;
  const PIECE = 'x'.repeat(65_536);

  it.each([false, true])(
    'a client that stops reading holds its model back until it reads again, and misses nothing: compressed %s',
    async (deflate) => {
      await start({ WS_MAX_BUFFERED_BYTES: 1024 * MEGABYTE, MAX_OUTPUT_CHARACTERS: 1024 * MEGABYTE });
      let pulled = 0;
      let enough = false;
      provider.play(async function* () {
        while (pulled < BATCHES && !enough) {
          pulled += 1;
          // Hard to compress, and each different.
          const delta = deflate ? noise(pulled) : `${pulled} ${PIECE}`;
          yield await Promise.resolve({ type: 'text' as const, delta });
        }
        yield { type: 'finish', reason: 'stop' };
      });
      await using client = await SocketClient.open(service, { perMessageDeflate: deflate, maxPayload: 0 });
      transportOf(client).pause();
      client.create({ input: 'Go on.' });
      while (provider.turns.length === 0) await nextLoopTurn();
      const { writer } = tracker.only;
      while (!writer.isBehind && pulled < BATCHES) await nextLoopTurn();
      // Time enough to write all the rest, if it were not held back.
      for (let turn = 0; turn < BATCHES; turn += 1) await nextLoopTurn();
      expect(pulled).toBeLessThan(BATCHES);
      expect(observer.records).toEqual([]);
      const heldAt = pulled;

      transportOf(client).resume();
      while (pulled === heldAt) await nextLoopTurn();
      enough = true;
      // The checker of the client looks at sequence numbers and at what the deltas add up to.
      const { events = [], response } = await client.finish();
      expect(response.status).toBe('completed');
      expect(events.filter(({ type }) => type === 'response.output_text.delta')).toHaveLength(pulled);
      expect(client.unread).toEqual([]);
    },
  );

  it('a client that stops reading holds back all its lanes, and nobody else', async () => {
    await start({ MAX_OUTPUT_CHARACTERS: 1024 * MEGABYTE });
    await using client = await SocketClient.open(service, { perMessageDeflate: false });
    const connection = tracker.only;
    await using other = await SocketClient.open(service);
    const pulled = [0, 0];
    for (const lane of pulled.keys()) {
      provider.play(async function* () {
        for (; (pulled[lane] ?? 0) < BATCHES; pulled[lane] = (pulled[lane] ?? 0) + 1) {
          yield await Promise.resolve({ type: 'text' as const, delta: PIECE });
        }
        yield { type: 'finish', reason: 'stop' };
      });
    }
    transportOf(client).pause();
    for (const stream_id of ['a', 'b']) client.create({ stream_id, input: 'Go on.' });
    while (!connection.writer.isBehind) await nextLoopTurn();
    for (let round = 0; round < 20; round += 1) {
      expect((await other.turn({ input: 'Hi' })).response.status).toBe('completed');
    }
    for (let turn = 0; turn < BATCHES; turn += 1) await nextLoopTurn();
    expect(Math.max(...pulled)).toBeLessThan(BATCHES);
    // It goes away, and its models learn of it.
    client.socket.terminate();
    const records = await observer.whenSettled(22);
    expect(records.filter(({ status }) => status === 'disconnected')).toHaveLength(2);
  });

  it('a client that stops reading lets go of its turn when it goes away', async () => {
    await start();
    const aborted = Promise.withResolvers<undefined>();
    provider.play(async function* (_turn, { signal }) {
      signal.addEventListener('abort', () => aborted.resolve(undefined));
      for (;;) yield await Promise.resolve({ type: 'text' as const, delta: PIECE });
    });
    const { pending } = clock;
    await using client = await SocketClient.open(service, { perMessageDeflate: false });
    const { writer } = tracker.only;
    transportOf(client).pause();
    client.create({ input: 'Go on.', store: true });
    while (!writer.isBehind) await nextLoopTurn();
    client.socket.terminate();
    await aborted.promise;
    const [record] = await observer.whenSettled(1);
    // Nothing of it is left, and so nothing waits for the client any more.
    while (clock.pending > pending) await nextLoopTurn();
    expect(record).toMatchObject({ status: 'disconnected' });
    expect((await fetch(`${service.baseURL}/responses/${record?.responseId}`)).status).toBe(404);
  });
});

describe('a client that has left too much of an answer unread', () => {
  const PIECES = 8;

  /** Each piece is more than may be left unread, and all of them more than the kernel takes. */
  const answerAtLength = async (client: SocketClient): Promise<void> => {
    provider.play(async function* () {
      for (let piece = 0; piece < PIECES; piece += 1) {
        yield await Promise.resolve({ type: 'text' as const, delta: String(piece).repeat(4 * MEGABYTE) });
      }
      yield [
        { type: 'usage', input: 1, output: 1 },
        { type: 'finish', reason: 'stop' },
      ];
    });
    transportOf(client).pause();
    client.create({ input: 'Go on.', store: true });
    while (!tracker.only.writer.isBehind) await nextLoopTurn();
  };

  /** Until the kernel has taken what it takes by itself. */
  const settle = (): Promise<void> => whenStill(() => 0);

  it('a client that has left too much of an answer unread is closed with 1013 when it takes nothing for a second, and cut off after another', async () => {
    await start({ WS_MAX_BUFFERED_BYTES: MEGABYTE, MAX_OUTPUT_CHARACTERS: 1024 * MEGABYTE });
    await using client = await SocketClient.open(service, { perMessageDeflate: false, maxPayload: 0 });
    await answerAtLength(client);
    await settle();
    clock.advance(STANDSTILL - 1);
    await settle();
    expect(observer.records).toEqual([]);
    // The first second may have begun before the kernel took its part.
    for (let seconds = 0; seconds < 3 && observer.records.length === 0; seconds += 1) {
      clock.advance(STANDSTILL);
      await settle();
    }
    // What its model has written is counted first.
    expect(await observer.whenSettled(1)).toMatchObject([{ status: 'disconnected' }]);
    expect((await fetch(`${service.baseURL}/responses/${observer.records[0]?.responseId}`)).status).toBe(404);
    clock.advance(STANDSTILL);
    await tracker.whenSockets(0);
  });

  it('a client that takes something every second stays', async () => {
    await start({ WS_MAX_BUFFERED_BYTES: MEGABYTE, MAX_OUTPUT_CHARACTERS: 1024 * MEGABYTE });
    await using client = await SocketClient.open(service, { perMessageDeflate: false, maxPayload: 0 });
    await answerAtLength(client);
    const { writer } = tracker.only;
    const { socket } = client;
    const transport = transportOf(client);
    for (let seconds = 0; seconds < 10; seconds += 1) {
      await settle();
      const before = writer.taken;
      transport.resume();
      while (writer.taken === before) await nextLoopTurn();
      transport.pause();
      clock.advance(STANDSTILL);
      expect(socket.readyState).toBe(socket.OPEN);
    }
    transport.resume();
    const { response } = await client.finish();
    expect(response.status).toBe('completed');
  });
});

/** 64 kB that cannot be compressed much; the same for the same seed. */
function noise(seed: number): string {
  let state = seed;
  return Buffer.from(
    Uint8Array.from({ length: 49_152 }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return state >>> 24;
    }),
  ).toString('base64');
}
