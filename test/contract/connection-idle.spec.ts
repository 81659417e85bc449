import { once } from 'node:events';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterEach, describe, expect, it } from '@jest/globals';

import { ConnectionRegistry } from '../../src/connections/index.js';
import { Clock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { RawSocketClient } from '../support/connection-raw.js';
import { ConnectionTracker } from '../support/connection-tracker.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { WatchedClock } from '../support/clocks.js';

/** Longer than any time that passes here. */
const FOR_EVER = 86_400_000;
const BEAT = 25_000;
const IDLE = 10_000;

let service: Service;
let clock: WatchedClock;
let observer: RecordingObserver;
let held: HeldTurns;
let tracker: ConnectionTracker;

async function start(environment: Readonly<Record<string, unknown>>): Promise<void> {
  clock = new WatchedClock();
  observer = new RecordingObserver();
  service = await startService({
    providers: [ScriptedProvider],
    imports: [observer.asModule()],
    overrides: [[Clock, clock]],
    environment: { WS_KEEPALIVE_MS: FOR_EVER, MODEL_IDLE_TIMEOUT_MS: 0, ...environment },
  });
  held = new HeldTurns(service.app.get(ScriptedProvider));
  tracker = new ConnectionTracker(service);
}

afterEach(async () => {
  clock.letGo();
  await service.close();
});

describe('the heartbeat of a connection', () => {
  it('the heartbeat of a connection lets a client live that answers every ping and says nothing else', async () => {
    await start({});
    await using client = await SocketClient.open(service);
    const side = tracker.latest;
    for (let beats = 0; beats < 5; beats += 1) {
      const [pinged, answered] = [once(client.socket, 'ping'), once(side, 'data')];
      clock.advance(BEAT);
      await Promise.all([pinged, answered]);
    }
    expect((await client.turn({ input: 'Hi' })).response.status).toBe('completed');
  });

  it('the heartbeat of a connection comes every WS_PING_INTERVAL_MS', async () => {
    await start({ WS_PING_INTERVAL_MS: 1000 });
    await using client = await SocketClient.open(service);
    let pings = 0;
    client.socket.on('ping', () => (pings += 1));
    for (const [pass, expected] of [
      [999, 0],
      [1, 1],
      [999, 1],
      [1, 2],
    ] as const) {
      clock.advance(pass);
      await client.roundTrip();
      expect(pings).toBe(expected);
    }
  });

  it('the heartbeat of a connection drops a client that leaves two pings unanswered, and not before', async () => {
    await start({});
    using silent = await RawSocketClient.open(service);
    await using other = await SocketClient.open(service);
    for (let beats = 0; beats < 2; beats += 1) {
      clock.advance(BEAT);
      await silent.next('ping');
      await other.roundTrip();
    }
    expect(service.app.get(ConnectionRegistry).size).toBe(2);
    clock.advance(BEAT);
    await silent.closed;
    await tracker.whenSockets(1);
    expect((await other.turn({ input: 'Hi' })).response.status).toBe('completed');
  });

  it('the heartbeat of a connection stops the turns of a client that it drops', async () => {
    await start({});
    await using client = await SocketClient.open(service, { autoPong: false });
    held.hold();
    client.create({ input: 'for nobody' });
    await held.whenBegun(1);
    for (let beats = 0; beats < 3; beats += 1) clock.advance(BEAT);
    expect(await client.closed).toMatchObject({ code: 1006 });
    expect(await observer.whenSettled(1)).toMatchObject([{ status: 'disconnected' }]);
  });

  it('the heartbeat of a connection is content with a pong that nobody asked for', async () => {
    await start({});
    using client = await RawSocketClient.open(service);
    const side = tracker.latest;
    for (let beats = 0; beats < 5; beats += 1) {
      const heard = once(side, 'data');
      client.send('pong');
      await heard;
      clock.advance(BEAT);
      await client.next('ping');
    }
    // From here on it says nothing.
    clock.advance(BEAT);
    await client.next('ping');
    clock.advance(BEAT);
    await client.closed;
  });

  it.each<readonly [string, (client: RawSocketClient) => void]>([
    ['messages', (client) => client.send('text', '{"type":"response.processed"}')],
    ['questions', (client) => client.send('text', '{"type":"no.such.event"}')],
    ['pings of its own', (client) => client.send('ping', 'x')],
  ])(
    'the heartbeat of a connection drops a client that says something, but answers nothing: %s',
    async (_name, speak) => {
      await start({});
      using client = await RawSocketClient.open(service);
      const side = tracker.latest;
      for (let beats = 0; beats < 3; beats += 1) {
        const heard = once(side, 'data');
        speak(client);
        await heard;
        // What was answered is on its way: nothing waits to be read.
        for (let turns = 0; turns < 3; turns += 1) await nextLoopTurn();
        expect(side.destroyed).toBe(false);
        clock.advance(BEAT);
      }
      await client.closed;
    },
  );

  it('the heartbeat of a connection ends with its connection', async () => {
    await start({});
    await using stays = await SocketClient.open(service);
    const { pending } = clock;
    const client = await SocketClient.open(service);
    expect(clock.pending).toBeGreaterThan(pending);
    await client.close();
    await tracker.whenSockets(1);
    await stays.roundTrip();
    expect(clock.pending).toBe(pending);
  });
});

describe('a connection that nobody uses', () => {
  const idle = { WS_IDLE_TIMEOUT_MS: IDLE, WS_PING_INTERVAL_MS: FOR_EVER };

  it('an idle connection is closed after WS_IDLE_TIMEOUT_MS, and not before', async () => {
    await start(idle);
    await using client = await SocketClient.open(service);
    clock.advance(IDLE - 1);
    await client.roundTrip();
    clock.advance(1);
    expect(await client.closed).toEqual({ code: 1000, reason: 'idle_timeout' });
    expect(client.unread).toEqual([]);
  });

  it('messages put off the end of an idle connection, and pings do not', async () => {
    await start(idle);
    await using client = await SocketClient.open(service);
    for (const frame of ['{"type":"response.processed"}', 'no JSON', '{"type":"no.such.event"}']) {
      clock.advance(IDLE - 1);
      client.send(frame);
      await client.roundTrip();
    }
    clock.advance(IDLE - 1);
    await client.roundTrip();
    clock.advance(1);
    expect(await client.closed).toMatchObject({ reason: 'idle_timeout' });
  });

  it('a connection is idle without turns, counted from the end of the last', async () => {
    await start(idle);
    await using client = await SocketClient.open(service);
    held.hold(2);
    for (const input of ['a', 'b']) client.create({ stream_id: input, input });
    await held.whenBegun(2);
    clock.advance(3 * IDLE);
    held.letGo('a');
    expect((await client.finish('a')).response.status).toBe('completed');
    clock.advance(3 * IDLE - 1);
    held.letGo('b');
    expect((await client.finish('b')).response.status).toBe('completed');
    clock.advance(IDLE - 1);
    await client.roundTrip();
    clock.advance(1);
    expect(await client.closed).toEqual({ code: 1000, reason: 'idle_timeout' });
  });

  it('an idle connection stays for ever unless WS_IDLE_TIMEOUT_MS says otherwise', async () => {
    await start({ WS_PING_INTERVAL_MS: FOR_EVER });
    await using client = await SocketClient.open(service);
    clock.advance(3_299_999);
    expect((await client.turn({ input: 'Hi' })).response.status).toBe('completed');
  });
});
