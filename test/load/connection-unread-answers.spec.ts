import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { frameOf, RawSocketClient } from '../support/connection-raw.js';
import { ConnectionTracker } from '../support/connection-tracker.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { WatchedClock } from '../support/clocks.js';

const MEGABYTE = 1024 * 1024;
/** For a client that does not read, ms. */
const PATIENCE = 1000;
const BUFFER = 128 * 1024;

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
    environment,
  });
  provider = service.app.get(ScriptedProvider);
  tracker = new ConnectionTracker(service);
}

afterEach(async () => {
  clock.letGo();
  await service.close();
});

describe('a client that leaves answers unread without end', () => {
  let client: RawSocketClient;
  let held: HeldTurns;

  beforeEach(async () => {
    await start({ WS_MAX_BUFFERED_BYTES: BUFFER, WS_MAX_MESSAGE_BYTES: MEGABYTE });
    client = await RawSocketClient.open(service);
    held = new HeldTurns(provider).hold();
    client.send('text', { type: 'response.create', model: 'scripted', input: 'held', store: true });
    await held.whenBegun(1);
  });

  afterEach(() => client[Symbol.dispose]());

  /** Says something again and again, and reads nothing, until the service has had enough. */
  const flood = async (bytes: Buffer): Promise<void> => {
    client.socket.pause();
    while (observer.records.length === 0) {
      // What the service does not read any more must not fill our own memory either.
      if (client.socket.writableLength < MEGABYTE) client.socket.write(bytes);
      await nextLoopTurn();
    }
  };

  const FLOODS: readonly (readonly [name: string, bytes: Buffer])[] = [
    ['errors of messages', Buffer.concat(Array(500).fill(frameOf('text', `{"type":"${'?'.repeat(300)}"}`)))],
    ['refused turns', Buffer.concat(Array(500).fill(frameOf('text', '{"type":"response.create","input":"again"}')))],
    ['large echoes', frameOf('text', `{"type":"response.steer","input":"${'x'.repeat(500_000)}"}`)],
  ];

  it.each(FLOODS)(
    'a client that leaves answers unread is closed with 1013, and its turn is stopped: %s',
    async (_name, bytes) => {
      await flood(bytes);
      const [record] = observer.records;
      expect(record).toMatchObject({ status: 'disconnected' });
      expect((await fetch(`${service.baseURL}/responses/${record?.responseId}`)).status).toBe(404);
      client.socket.resume();
      expect(await client.nextClose()).toEqual({ code: 1013, reason: 'too_much_unread_output' });
    },
  );

  it.each(FLOODS)(
    'a client that leaves answers unread is cut off after a second if it does not even read that: %s',
    async (_name, bytes) => {
      await flood(bytes);
      await using other = await SocketClient.open(service);
      clock.advance(PATIENCE);
      await tracker.whenSockets(1);
      expect((await other.turn({ input: 'Hi' })).response.status).toBe('completed');
    },
  );
});

describe('a client that pings and does not read', () => {
  it('a client that pings and does not read gets an answer to the last ping, and not to all of them', async () => {
    await start();
    using client = await RawSocketClient.open(service);
    client.socket.pause();
    // Twice what kernels hold between a client and the service.
    const pings = 120_000;
    for (let ping = 1; ping <= pings; ping += 1) {
      client.send('ping', String(ping).padStart(125, '.'));
      if (client.socket.writableLength > MEGABYTE) await nextLoopTurn();
    }
    client.socket.resume();
    let [pongs, last] = [0, 0];
    while (last < pings) {
      last = Number((await client.next('pong')).payload.toString().replaceAll('.', ''));
      pongs += 1;
    }
    expect(pongs).toBeLessThan(pings);
  });
});

describe('a client that reads', () => {
  it('a client that reads gets an answer of any size to what it says', async () => {
    await start({ WS_MAX_BUFFERED_BYTES: BUFFER, WS_MAX_MESSAGE_BYTES: MEGABYTE });
    await using client = await SocketClient.open(service);
    const input = 'x'.repeat(2 * BUFFER);
    for (let times = 0; times < 3; times += 1) {
      client.send({ type: 'response.steer', previous_response_id: 'resp_1', input });
      expect(await client.next()).toMatchObject({ type: 'response.steer.failed', steer: { input } });
    }
    expect((await client.turn({ input: 'Hi' })).response.status).toBe('completed');
  });

  it.each([false, true])(
    'a client that reads gets an answer larger than a frame, and than what it may leave unread: compressed %s',
    async (perMessageDeflate) => {
      // Nine megabytes in each event that repeats it: more than what may be left unread, and than a frame.
      await start({ WS_MAX_BUFFERED_BYTES: MEGABYTE });
      const delta = '字'.repeat(3 * MEGABYTE);
      provider.reply({ type: 'text', delta }, { type: 'usage', input: 1, output: 1 });
      await using client = await SocketClient.open(service, { perMessageDeflate, maxPayload: 0 });
      const { response } = await client.turn({ input: 'All of it.' });
      expect(response.status).toBe('completed');
      const [item] = response['output'] as readonly [{ readonly content: readonly [{ readonly text: string }] }];
      expect(item.content[0].text === delta).toBe(true);
    },
  );

  it('a client that reads gets what belongs together in one piece', async () => {
    await start();
    using client = await RawSocketClient.open(service);
    const deltas = Array.from({ length: 300 }, (_, index) => ({ type: 'text' as const, delta: `${index} ` }));
    provider.reply(...deltas);
    client.send('text', { type: 'response.create', model: 'scripted', input: 'Hi' });
    const types: string[] = [];
    while (types.at(-1) !== 'response.completed') types.push((await client.nextEvent()).type);
    expect(types.length).toBeGreaterThan(300);
    expect(client.chunks).toBeLessThan(20);
  });

  it('a client that reads gets the answers to what it sent at once with one write', async () => {
    await start();
    using client = await RawSocketClient.open(service);
    // The kernel may well put together what was written in pieces.
    const side = tracker.latest;
    const writes = [jest.spyOn(side, '_write'), jest.spyOn(side, '_writev')];
    client.socket.write(Buffer.concat(Array(100).fill(frameOf('text', 'no JSON'))));
    const events: WireEvent[] = [];
    while (events.length < 100) events.push(await client.nextEvent());
    expect(events.every(({ type }) => type === 'error')).toBe(true);
    expect(writes.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBe(1);
  });
});
