import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterEach, describe, expect, it } from '@jest/globals';

import { type Connection, ConnectionRegistry } from '../../src/connections/index.js';
import { asTenant, Clock } from '../../src/index.js';
import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { RawSocketClient } from '../support/connection-raw.js';
import { ConnectionTracker } from '../support/connection-tracker.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { WatchedClock } from '../support/clocks.js';

const MINUTE = 60_000;
const LIFETIME = 60 * MINUTE;
const NOTICE = 5 * MINUTE;
const GRACE = 30_000;
/** For the last events of turns that were stopped. */
const LAST_WORDS = 1000;
/** For a client's side of the close. */
const HANDSHAKE = 10_000;
const LIMIT_MESSAGE =
  'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.';

let service: Service;
let clock: WatchedClock;
let observer: RecordingObserver;
let held: HeldTurns;
let tracker: ConnectionTracker;

async function start(environment: Readonly<Record<string, unknown>> = {}): Promise<void> {
  clock = new WatchedClock();
  observer = new RecordingObserver();
  service = await startService({
    providers: [ScriptedProvider],
    imports: [observer.asModule()],
    overrides: [[Clock, clock]],
    // All of them run on the clock that the tests move; only age is to count here.
    environment: { WS_PING_INTERVAL_MS: 10 * LIFETIME, WS_KEEPALIVE_MS: 10 * LIFETIME, ...environment },
  });
  held = new HeldTurns(service.app.get(ScriptedProvider));
  tracker = new ConnectionTracker(service);
}

afterEach(async () => {
  clock.letGo();
  await service.close();
});

/** The end of age, as the connection itself hears it. */
function expectLimit(frame: WireEvent, message = LIMIT_MESSAGE): void {
  expect(frame).toMatchObject({
    type: 'error',
    status: 400,
    error: { type: 'invalid_request_error', code: 'websocket_connection_limit_reached', message, param: null },
  });
}

async function begin(client: SocketClient, ...inputs: readonly string[]): Promise<void> {
  const { length } = held.begun;
  held.hold(inputs.length);
  for (const input of inputs) client.create({ stream_id: input, input });
  await held.whenBegun(length + inputs.length);
}

describe('the age of a connection', () => {
  it('the end of a connection is announced five minutes before, and never disturbs what runs', async () => {
    await start();
    const expires_at = Math.floor((clock.now() + LIFETIME) / 1000);
    await using client = await SocketClient.open(service);
    clock.advance(LIFETIME - NOTICE - 1000);
    await begin(client, 'a');
    clock.advance(999);
    await client.roundTrip();
    expect(client.unread.filter(({ stream_id }) => stream_id === undefined)).toEqual([]);
    clock.advance(1);
    expect(await client.nextOf()).toEqual({
      type: 'connection_expiring',
      code: 'connection_expiring',
      message: expect.stringContaining('5 minutes'),
      expires_at,
    });
    held.letGo('a');
    expect((await client.finish('a')).response.status).toBe('completed');
    expect((await client.turn({ input: 'Still there?' })).response.status).toBe('completed');
    expect(client.unread).toEqual([]);
  });

  it('a connection ends after sixty minutes with an error frame of its own and the close', async () => {
    await start();
    await using client = await SocketClient.open(service);
    clock.advance(LIFETIME - NOTICE);
    expect(await client.next()).toMatchObject({ type: 'connection_expiring' });
    clock.advance(NOTICE - 1);
    expect((await client.turn({ input: 'Just in time.' })).response.status).toBe('completed');
    clock.advance(1);
    const frame = await client.next();
    expectLimit(frame);
    expect(Object.keys(frame)).not.toContain('stream_id');
    expect(await client.closed).toEqual({ code: 1000, reason: 'connection_expired' });
    expect(client.unread).toEqual([]);
    await tracker.whenSockets(0);
  });

  it('the age of a connection is counted for each connection by itself', async () => {
    await start();
    await using old = await SocketClient.open(service);
    clock.advance(LIFETIME / 2);
    await using young = await SocketClient.open(service);
    clock.advance(LIFETIME / 2);
    expect(await old.closed).toMatchObject({ reason: 'connection_expired' });
    expect((await young.turn({ input: 'Hi' })).response.status).toBe('completed');
    expect(young.unread).toEqual([]);
  });

  it.each([1001, 1012, 4000])(
    'a connection ends for its age with the code of WS_EXPIRY_CLOSE_CODE: %d',
    async (code) => {
      await start({ WS_EXPIRY_CLOSE_CODE: code, WS_MAX_LIFETIME_MS: 90_000, WS_EXPIRY_NOTICE_MS: 0 });
      await using client = await SocketClient.open(service);
      clock.advance(90_000);
      expectLimit(await client.next(), LIMIT_MESSAGE.replace('60 minutes', '90 seconds'));
      expect(await client.closed).toEqual({ code, reason: 'connection_expired' });
      // Nothing was announced: WS_EXPIRY_NOTICE_MS is 0.
      expect(client.unread).toEqual([]);
    },
  );
});

describe('a connection at its end, with turns running', () => {
  it('a connection at its end refuses new turns while the running ones go on, and closes as soon as they are done', async () => {
    await start();
    await using client = await SocketClient.open(service);
    clock.advance(LIFETIME - 1);
    await client.next();
    await begin(client, 'a', 'b');
    clock.advance(1);
    for (const streamId of ['a', 'c', undefined]) {
      client.create({ ...(streamId === undefined ? {} : { stream_id: streamId }), input: 'late' });
    }
    const refusals: WireEvent[] = [];
    while (refusals.length < 2) {
      const frame = await client.next();
      if (frame.type === 'error') refusals.push(frame);
      else expect(frame).toMatchObject({ type: expect.stringMatching(/^response\./) });
    }
    expect(refusals.map(({ stream_id }) => stream_id)).toEqual(['c', undefined]);
    for (const refusal of refusals) expectLimit(refusal);

    clock.advance(GRACE - 1);
    held.letGo('a');
    const first = await untilEnd(client, 'a');
    expect(first).toMatchObject({
      type: 'response.completed',
      response: { output: [{ content: [{ text: 're a' }] }] },
    });
    expectLimit(await client.nextOf('a'));
    await client.roundTrip();
    expect(client.unread.filter(({ type }) => type === 'error')).toEqual([]);
    held.letGo('b');
    expect(await untilEnd(client, 'b')).toMatchObject({ type: 'response.completed' });
    expectLimit(await client.next());
    expect(await client.closed).toEqual({ code: 1000, reason: 'connection_expired' });
    expect(client.unread).toEqual([]);
    expect(held.begun).toEqual(['a', 'b']);
  });

  it('a connection at its end fails what outlives WS_EXPIRY_GRACE_MS, and stores that', async () => {
    await start({ WS_EXPIRY_GRACE_MS: 5000 });
    await using client = await SocketClient.open(service);
    clock.advance(LIFETIME - 1);
    await client.next();
    await begin(client, 'a');
    clock.advance(5000);
    await client.roundTrip();
    expect(client.unread.map(({ type }) => type)).not.toContain('response.failed');
    clock.advance(1);
    const { response } = await client.finish('a');
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringMatching(/connection .*retry/i) },
    });
    expectLimit(await client.next());
    expect(await client.closed).toEqual({ code: 1000, reason: 'connection_expired' });
    expect(await observer.whenSettled(1)).toMatchObject([{ status: 'failed' }]);
    const stored = await fetch(`${service.baseURL}/responses/${response.id}`);
    expect(await stored.json()).toMatchObject({ status: 'failed' });
  });

  it.each([
    ['a named lane', 'a'],
    ['the default lane', undefined],
  ])(
    'a connection at its end refuses what waits behind a running turn once that has ended, since an error frame names no turn: %s',
    async (_lane, streamId) => {
      await start({ WS_OVERLAP: 'queue' });
      await using client = await SocketClient.open(service);
      clock.advance(LIFETIME - 1);
      await client.next();
      const create = (input: string): void =>
        client.create({ ...(streamId === undefined ? {} : { stream_id: streamId }), input });
      held.hold();
      for (const input of ['first', 'second', 'third']) create(input);
      await held.whenBegun(1);
      await client.roundTrip();
      clock.advance(1);
      create('late');
      await client.roundTrip();
      expect(client.unread.map(({ type }) => type)).not.toContain('error');
      held.letGo('first');
      expect((await client.finish(streamId)).response.status).toBe('completed');
      for (let refused = 0; refused < 3; refused += 1) {
        const refusal = await client.nextOf(streamId);
        expectLimit(refusal);
        expect(refusal.stream_id).toBe(streamId);
      }
      expect(await client.closed).toMatchObject({ reason: 'connection_expired' });
      expect(held.begun).toEqual(['first']);
    },
  );

  it('a connection at its end refuses what waits behind a turn that outlives WS_EXPIRY_GRACE_MS', async () => {
    await start({ WS_EXPIRY_GRACE_MS: 5000 });
    await using client = await SocketClient.open(service);
    clock.advance(LIFETIME - 1);
    await client.next();
    await begin(client, 'a');
    client.create({ stream_id: 'a', input: 'second' });
    await client.roundTrip();
    clock.advance(1);
    clock.advance(5000);
    expect((await client.finish('a')).response.status).toBe('failed');
    expectLimit(await client.nextOf('a'));
    expectLimit(await client.next());
    expect(await client.closed).toMatchObject({ reason: 'connection_expired' });
  });

  it('a connection at its end is not held by a client that neither reads nor closes', async () => {
    await start({ WS_EXPIRY_GRACE_MS: 5000 });
    using client = await RawSocketClient.open(service);
    const stopped = Promise.withResolvers<undefined>();
    service.app.get(ScriptedProvider).play(async function* (_turn, { signal }) {
      signal.addEventListener('abort', () => stopped.resolve(undefined));
      for (;;) yield await Promise.resolve({ type: 'text' as const, delta: 'x'.repeat(1_000_000) });
    });
    client.socket.pause();
    client.send('text', { type: 'response.create', model: 'scripted', input: 'Go on.' });
    const [connection] = service.app.get(ConnectionRegistry).list(asTenant('anybody')) as [Connection];
    while (!connection.writer.isBehind) await nextLoopTurn();

    clock.advance(LIFETIME);
    const lastWords = clock.whenScheduled(LAST_WORDS);
    clock.advance(5000);
    await Promise.all([stopped.promise, lastWords]);
    const handshake = clock.whenScheduled(HANDSHAKE);
    clock.advance(LAST_WORDS);
    await handshake;
    expect(connection.refusal).toMatchObject({ code: 'websocket_connection_limit_reached' });
    clock.advance(HANDSHAKE);
    await tracker.whenSockets(0);
    expect(await observer.whenSettled(1)).toHaveLength(1);
  });
});

/** The terminal event of a lane, whatever else comes on others. */
async function untilEnd(client: SocketClient, streamId: string): Promise<WireEvent> {
  for (;;) {
    const event = await client.nextOf(streamId);
    if (/^response\.(?:completed|failed|incomplete)$/.test(event.type)) return event;
  }
}
