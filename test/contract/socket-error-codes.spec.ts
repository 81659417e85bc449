import { afterEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { useServices } from '../support/describe-service.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { WatchedClock } from '../support/clocks.js';
import { ERROR_CASES, type Scene } from './socket-error-cases.js';

describe('the errors of sockets', () => {
  const serviceOf = useServices({ providers: [ScriptedProvider] });

  const open = async (environment: Readonly<Record<string, unknown>> = {}): Promise<Scene> => {
    const service = await serviceOf(environment);
    const provider = service.app.get(ScriptedProvider).reset();
    return { service, provider, client: await SocketClient.open(service) };
  };

  it.each(ERROR_CASES)('the errors of sockets are told by $code', async (expected) => {
    const scene = await open(expected.environment);
    const { client } = scene;
    await expected.provoke(scene);
    const { lane, param = null, type = 'invalid_request_error', status, code, message, retryAfter } = expected;
    const headers = {
      ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
      'x-request-id': expect.stringMatching(/^req_\w+$/) as unknown,
    };
    const frame = await firstError(client, lane);
    expect(frame).toEqual({
      type: 'error',
      status,
      ...(lane === undefined ? {} : { stream_id: lane }),
      error: {
        type,
        code,
        message: typeof message === 'string' ? message : (expect.stringMatching(message) as unknown),
        param,
        headers,
      },
      headers,
    });
    expect(JSON.stringify(frame)).not.toMatch(/ECONNREFUSED|10\.0\.0\.7/);
    // And the connection is still there.
    client.send({ type: 'after.it' });
    expect((await firstError(client, undefined))['error']).toMatchObject({
      message: expect.stringContaining('after.it'),
    });
    await client[Symbol.asyncDispose]();
  });
});

describe('the errors that end a socket', () => {
  let service: Service | undefined;

  afterEach(() => service?.close());

  it('a socket without room is told by websocket_connection_limit_reached', async () => {
    service = await startService({ providers: [ScriptedProvider], environment: { WS_MAX_CONNECTIONS: 1 } });
    await using first = await SocketClient.open(service);
    await using second = await SocketClient.open(service);
    expect(await second.next()).toMatchObject({
      type: 'error',
      status: 429,
      error: { type: 'invalid_request_error', code: 'websocket_connection_limit_reached', param: null },
      headers: { 'retry-after': '1' },
    });
    await expect(second.closed).resolves.toEqual({ code: 1013, reason: 'websocket_connection_limit_reached' });
    await expect(first.turn({ input: 'Hi' })).resolves.toMatchObject({ response: { status: 'completed' } });
  });

  it('a socket after 60 minutes is told by websocket_connection_limit_reached and connection_expired', async () => {
    const clock = new WatchedClock();
    service = await startService({
      providers: [ScriptedProvider],
      overrides: [[Clock, clock]],
      // An hour passes at once: nobody can answer pings in it, and no model is silent for so long.
      environment: { WS_PING_INTERVAL_MS: 2 * 3_600_000, MODEL_IDLE_TIMEOUT_MS: 0 },
    });
    const held = new HeldTurns(service.app.get(ScriptedProvider)).hold();
    await using client = await SocketClient.open(service);
    client.create({ stream_id: 'a', input: 'last' });
    await held.whenBegun(1);
    clock.advance(55 * 60_000);
    expect(await client.nextOf()).toMatchObject({
      type: 'connection_expiring',
      code: 'connection_expiring',
      expires_at: Math.floor(clock.now() / 1000) + 5 * 60,
    });
    const limit = {
      type: 'error',
      status: 400,
      error: {
        type: 'invalid_request_error',
        code: 'websocket_connection_limit_reached',
        message:
          'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
        param: null,
      },
    };
    clock.advance(5 * 60_000 - 1);
    await client.warmUp({ stream_id: 'b' });
    clock.advance(1);
    client.create({ stream_id: 'b', input: 'Hi' });
    expect(await client.nextOf('b')).toMatchObject({ ...limit, stream_id: 'b' });
    held.letGo('last');
    expect(await client.nextEnd('a')).toMatchObject({ type: 'response.completed' });
    const farewell = await client.nextOf();
    expect(farewell).toMatchObject(limit);
    expect(farewell).not.toHaveProperty('stream_id');
    await expect(client.closed).resolves.toEqual({ code: 1000, reason: 'connection_expired' });
    clock.letGo();
  });
});

/** The first error on a lane; a running turn may have said something before. */
async function firstError(client: SocketClient, lane: string | undefined): Promise<WireEvent> {
  const end = await client.nextEnd(lane);
  expect(end.type).toBe('error');
  return end;
}
