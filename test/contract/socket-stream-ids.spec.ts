import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

const INVALID =
  "The 'stream_id' field must be a non-empty string with at most 256 characters and may only contain letters, numbers, " +
  'underscores, hyphens, and periods.';

const LIMIT =
  'This WebSocket connection has reached its maximum number of distinct stream IDs (32). ' +
  'Reuse an existing stream_id or open a new WebSocket connection.';

describeService('the names of lanes', { providers: [ScriptedProvider] }, (service) => {
  let client: SocketClient;

  beforeEach(async () => {
    client = await SocketClient.open(service);
  });

  afterEach(() => client[Symbol.asyncDispose]());

  it.each<[what: string, streamId: unknown]>([
    ['an empty one', ''],
    ['257 characters', 'a'.repeat(257)],
    ['a space', 'a b'],
    ['a letter beyond ASCII', 'plänner'],
    ['a line break at the end', 'planner\n'],
    ['a slash', 'a/b'],
    ['a number', 7],
    ['false', false],
    ['an object', { name: 'a' }],
    ['an array', ['a']],
  ])('a socket refuses as a lane: %s', async (_, stream_id) => {
    const asked = service.provider.turns.length;
    client.create({ stream_id, input: 'Hi' });
    const frame = await client.next();
    expect(frame).toMatchObject({
      type: 'error',
      status: 400,
      error: { type: 'invalid_request_error', code: 'invalid_stream_id', param: 'stream_id', message: INVALID },
    });
    expect(frame).not.toHaveProperty('stream_id');
    expect(service.provider.turns).toHaveLength(asked);
    await expect(client.turn({ input: 'Hi' })).resolves.toMatchObject({ response: { status: 'completed' } });
  });

  it('a socket refuses an invalid lane at once while the default lane is busy', async () => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ input: 'wait' });
    await held.whenBegun(1);
    client.create({ stream_id: '', input: 'Hi' });
    expect(await client.nextEnd()).toMatchObject({ type: 'error', error: { code: 'invalid_stream_id' } });
    held.letGo('wait');
    expect(await client.nextEnd()).toMatchObject({ type: 'response.completed' });
  });

  it.each([
    ['one character', 'a'],
    ['256 characters', 'a'.repeat(256)],
    ['every kind of character', 'Lane_0.9-z'],
    ['a name that objects have', '__proto__'],
    ['another of these', 'constructor'],
  ])('a socket takes as a lane: %s', async (_, stream_id) => {
    const { response } = await client.turn({ stream_id, input: 'Hi', store: false });
    await client.turn({ stream_id, input: 'Again', store: false, previous_response_id: response.id });
    expect(service.provider.turns.at(-1)?.context).toHaveLength(3);
  });

  it('a socket takes null for the default lane', async () => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ stream_id: null, input: 'wait' });
    await held.whenBegun(1);
    // The same lane, hence busy.
    client.create({ input: 'Hi' });
    expect(await client.nextEnd()).toMatchObject({ type: 'error', error: { code: 'concurrent_request' } });
    held.letGo('wait');
    const end = await client.nextEnd();
    expect(end).toMatchObject({ type: 'response.completed' });
    expect(end).not.toHaveProperty('stream_id');
  });

  it('a socket knows no more than 32 names for the life of a connection', async () => {
    for (let name = 0; name < 32; name += 1) await client.warmUp({ stream_id: `lane-${name}` });
    for (const stream_id of ['lane-32', 'another']) {
      await expect(client.refusal({ stream_id, input: 'Hi' })).resolves.toMatchObject({
        status: 400,
        stream_id,
        error: {
          type: 'invalid_request_error',
          code: 'websocket_stream_limit_reached',
          param: 'stream_id',
          message: LIMIT,
        },
      });
    }
    for (const stream_id of ['lane-0', 'lane-31']) {
      await expect(client.turn({ stream_id, input: 'Hi' })).resolves.toMatchObject({
        response: { status: 'completed' },
      });
    }
    await expect(client.turn({ input: 'Hi' })).resolves.toMatchObject({ response: { status: 'completed' } });
    await using other = await SocketClient.open(service);
    await expect(other.turn({ stream_id: 'lane-32', input: 'Hi' })).resolves.toMatchObject({
      response: { status: 'completed' },
    });
  });

  it('the limit of lanes does not count the default lane among them', async () => {
    await client.warmUp({});
    for (let name = 0; name < 32; name += 1) await client.warmUp({ stream_id: `lane-${name}` });
    await expect(client.refusal({ stream_id: 'lane-32', input: 'Hi' })).resolves.toMatchObject({
      error: { code: 'websocket_stream_limit_reached' },
    });
  });

  it('the limit of lanes does not count names that were refused as invalid', async () => {
    for (let name = 0; name < 40; name += 1) {
      client.create({ stream_id: `lane ${name}` });
      await expect(client.next()).resolves.toMatchObject({ error: { code: 'invalid_stream_id' } });
    }
    for (let name = 0; name < 32; name += 1) await client.warmUp({ stream_id: `lane-${name}` });
  });
});
