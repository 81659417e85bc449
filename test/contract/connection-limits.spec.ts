import { afterEach, describe, expect, it } from '@jest/globals';

import { ConnectionRegistry } from '../../src/connections/index.js';
import { Clock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { RawSocketClient } from '../support/connection-raw.js';
import { closeOf, ConnectionTracker } from '../support/connection-tracker.js';
import { RawClient } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { WatchedClock } from '../support/clocks.js';

const ALPHA = { headers: { authorization: 'Bearer sk-alpha' } };
const BETA = { headers: { authorization: 'Bearer sk-beta' } };

/** How long a client that is turned away has for its side of the close, ms. */
const PATIENCE_MS = 1000;
/** So many may be on their way out at once. */
const MAX_TURNED_AWAY = 64;

describe('too many connections', () => {
  let service: Service;
  let clock: WatchedClock;
  let tracker: ConnectionTracker;

  const start = async (environment: Readonly<Record<string, unknown>>): Promise<void> => {
    clock = new WatchedClock();
    service = await startService({
      providers: [ScriptedProvider],
      overrides: [[Clock, clock]],
      environment: { API_KEYS: 'alpha:sk-alpha,beta:sk-beta', ...environment },
    });
    tracker = new ConnectionTracker(service);
  };

  afterEach(async () => {
    clock.letGo();
    await service.close();
  });

  const expectTurnedAway = async (client: SocketClient, limit: RegExp): Promise<void> => {
    const frame = await client.next();
    expect(frame).toEqual({
      type: 'error',
      status: 429,
      error: {
        type: 'invalid_request_error',
        code: 'websocket_connection_limit_reached',
        param: null,
        message: expect.stringMatching(limit),
        headers: expect.objectContaining({ 'retry-after': '1' }),
      },
      headers: expect.objectContaining({ 'x-request-id': expect.stringMatching(/^req_/) }),
    });
    expect(await client.closed).toEqual({ code: 1013, reason: 'websocket_connection_limit_reached' });
    expect(client.unread).toEqual([]);
  };

  const expectServed = async (client: SocketClient): Promise<void> => {
    expect((await client.turn({ input: 'Hi' })).response.status).toBe('completed');
  };

  /** Closes a client, and waits until the service counts so many. */
  const leave = async (client: SocketClient, left: number): Promise<void> => {
    await client.close();
    await tracker.whenSockets(left);
  };

  it('connections above the limit are told so and closed, whoever they belong to, until there is room again', async () => {
    await start({ WS_MAX_CONNECTIONS: 2 });
    await using first = await SocketClient.open(service, ALPHA);
    await using second = await SocketClient.open(service, BETA);
    for (const options of [ALPHA, BETA]) {
      await expectTurnedAway(await SocketClient.open(service, options), /server's limit of 2 /);
    }
    expect(service.app.get(ConnectionRegistry).size).toBe(2);
    await expectServed(first);
    await leave(second, 1);
    await using third = await SocketClient.open(service, ALPHA);
    await expectServed(third);
    await expectTurnedAway(await SocketClient.open(service, BETA), /limit of 2 /);
  });

  it('too many connections of one tenant leave room for others', async () => {
    await start({ WS_MAX_CONNECTIONS_PER_TENANT: 1 });
    await using first = await SocketClient.open(service, ALPHA);
    await expectTurnedAway(await SocketClient.open(service, ALPHA), /your limit of 1 /);
    await using other = await SocketClient.open(service, BETA);
    await expectServed(other);
    await expectTurnedAway(await SocketClient.open(service, BETA), /your limit of 1 /);
    await leave(first, 1);
    await using again = await SocketClient.open(service, ALPHA);
    await expectServed(again);
    await expectServed(other);
  });

  it('connections above the limit count for their tenant as long as they are there, also when they vanish', async () => {
    await start({ WS_MAX_CONNECTIONS_PER_TENANT: 2 });
    for (let round = 0; round < 3; round += 1) {
      const pair = [await SocketClient.open(service, ALPHA), await SocketClient.open(service, ALPHA)];
      await expectTurnedAway(await SocketClient.open(service, ALPHA), /your limit of 2 /);
      for (const client of pair) await expectServed(client);
      for (const client of pair) client.socket.terminate();
      await tracker.whenSockets(0);
    }
  });

  it('connections above the limit do not take up turns of those that are there', async () => {
    await start({ WS_MAX_CONNECTIONS: 1 });
    await using client = await SocketClient.open(service, ALPHA);
    const held = new HeldTurns(service.app.get(ScriptedProvider)).hold();
    client.create({ input: 'long' });
    await held.whenBegun(1);
    const away = await SocketClient.open(service, ALPHA);
    away.create({ input: 'not to be run' });
    await expectTurnedAway(away, /limit of 1 /);
    held.letGo('long');
    expect((await client.finish()).response.status).toBe('completed');
    expect(held.begun).toEqual(['long']);
    expect(service.app.get(ScriptedProvider).turns).toHaveLength(1);
  });

  it('connections above the limit are cut off after a second if they do not close, and not before', async () => {
    await start({ WS_MAX_CONNECTIONS: 1 });
    await using client = await SocketClient.open(service, ALPHA);
    using stubborn = await RawSocketClient.open(service, ALPHA);
    const stubbornSide = tracker.latest;
    expect(await stubborn.nextEvent()).toMatchObject({ status: 429 });
    expect(await stubborn.nextClose()).toMatchObject({ code: 1013 });
    clock.advance(PATIENCE_MS - 1);
    await expectServed(client);
    expect(stubbornSide.destroyed).toBe(false);
    clock.advance(1);
    await stubborn.closed;
    await expectServed(client);
  });

  it('connections beyond all measure are not even told, as long as the others stay', async () => {
    await start({ WS_MAX_CONNECTIONS: 1, API_KEYS: '' });
    await using client = await SocketClient.open(service);
    const stubborn = await Promise.all(
      Array.from({ length: MAX_TURNED_AWAY }, async () => {
        const raw = await RawSocketClient.open(service);
        await raw.nextClose();
        return raw;
      }),
    );
    for (const path of ['/v1/responses', '/openai/v1/responses']) {
      const { status, headers, body } = await SocketClient.refused(service, {}, path);
      expect({ status, body }).toMatchObject({
        status: 503,
        body: { error: { type: 'service_unavailable_error', code: 'server_is_overloaded', param: null } },
      });
      expect(headers).toMatchObject({ 'retry-after': '1', 'x-request-id': expect.stringMatching(/^req_/) });
    }
    // One goes by itself, and there is room for the next to be told.
    const [leaving, ...staying] = stubborn as [RawSocketClient, ...RawSocketClient[]];
    const gone = closeOf(tracker.sideOf(leaving.socket));
    leaving.socket.destroy();
    await gone;
    await expectTurnedAway(await SocketClient.open(service), /limit of 1 /);
    await expectServed(client);
    clock.advance(PATIENCE_MS);
    await Promise.all(staying.map(({ closed }) => closed));
    await expectTurnedAway(await SocketClient.open(service), /limit of 1 /);
    await expectServed(client);
  });

  it('too many connections leave HTTP as it is', async () => {
    await start({ WS_MAX_CONNECTIONS: 1, WS_MAX_CONNECTIONS_PER_TENANT: 1 });
    await using client = await SocketClient.open(service, ALPHA);
    const http = new RawClient(service.port);
    const answer = await http.post('{"model":"scripted","input":"Hi"}', ALPHA.headers);
    expect(answer.status).toBe(200);
    http.close();
    await expectServed(client);
  });
});
