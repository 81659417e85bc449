import { afterEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

const TOO_MANY = {
  type: 'error',
  status: 429,
  headers: { 'retry-after': '1' },
  error: {
    type: 'rate_limit_error',
    code: 'too_many_queued_requests',
    param: null,
    headers: { 'retry-after': '1' },
  },
};

/** Room for one message that waits. */
const SMALL = { WS_MAX_MESSAGE_BYTES: 1024, WS_QUEUE_MAX_BYTES: 1024 };

describe('the limits of what waits', () => {
  let service: Service;
  let held: HeldTurns;
  const clients: SocketClient[] = [];

  const start = async (environment: Record<string, unknown>, sockets = 1): Promise<readonly SocketClient[]> => {
    service = await startService({ providers: [ScriptedProvider], environment });
    held = new HeldTurns(service.app.get(ScriptedProvider));
    for (let count = 0; count < sockets; count += 1) clients.push(await SocketClient.open(service));
    return clients;
  };

  /** Occupies a lane, so that what comes after it has to wait. */
  const occupy = async (client: SocketClient, stream_id: string, input: string): Promise<void> => {
    held.hold();
    client.create({ stream_id, input });
    await held.whenBegun(held.begun.length + 1);
  };

  afterEach(async () => {
    for (const client of clients.splice(0)) await client[Symbol.asyncDispose]();
    await service.close();
  });

  const large = 'x'.repeat(600);
  const isCompleted = { response: { status: 'completed' } };

  it('the queue of a socket refuses turns beyond WS_QUEUE_MAX_TURNS, all lanes together, and has room again afterwards', async () => {
    const [client] = (await start({ WS_QUEUE_MAX_TURNS: 2 })) as [SocketClient];
    await occupy(client, 'a', 'one');
    await occupy(client, 'b', 'two');
    client.create({ stream_id: 'a', input: 'waits' });
    client.create({ stream_id: 'b', input: 'waits' });
    client.create({ stream_id: 'a', input: 'too many' });
    client.create({ stream_id: 'b', input: 'too many' });
    // Refused at once: both lanes are still at their first turn.
    for (const lane of ['a', 'b']) {
      expect(await client.nextEnd(lane)).toMatchObject({ ...TOO_MANY, stream_id: lane });
    }
    expect(held.begun).toEqual(['one', 'two']);
    // A lane that is free needs no place among those that wait.
    await expect(client.turn({ stream_id: 'c', input: 'Hi' })).resolves.toMatchObject(isCompleted);
    held.letGo('one');
    expect(await client.nextEnd('a')).toMatchObject({ response: { output: [{ content: [{ text: 're one' }] }] } });
    expect(await client.nextEnd('a')).toMatchObject(isCompleted);
    // One place is free again, and not two.
    client.create({ stream_id: 'b', input: 'waits' });
    client.create({ stream_id: 'b', input: 'too many' });
    expect(await client.nextEnd('b')).toMatchObject({ ...TOO_MANY, stream_id: 'b' });
    await expectNoError(client);
    held.letGo('two');
    for (let turn = 0; turn < 3; turn += 1) expect(await client.nextEnd('b')).toMatchObject(isCompleted);
    await occupy(client, 'a', 'three');
    client.create({ stream_id: 'a', input: 'waits' });
    client.create({ stream_id: 'a', input: 'waits' });
    await expectNoError(client);
    held.letGo('three');
    for (let turn = 0; turn < 3; turn += 1) expect(await client.nextEnd('a')).toMatchObject(isCompleted);
  });

  it('the queue of a socket lets nothing wait where WS_QUEUE_MAX_TURNS is 0', async () => {
    const [client] = (await start({ WS_QUEUE_MAX_TURNS: 0 })) as [SocketClient];
    await occupy(client, 'a', 'one');
    client.create({ stream_id: 'a', input: 'too many' });
    expect(await client.nextEnd('a')).toMatchObject({ ...TOO_MANY, stream_id: 'a' });
    held.letGo('one');
    expect(await client.nextEnd('a')).toMatchObject(isCompleted);
    await expect(client.turn({ stream_id: 'a', input: 'Hi' })).resolves.toMatchObject(isCompleted);
  });

  it('the queue of a socket refuses bytes beyond WS_QUEUE_MAX_BYTES, but takes what still fits', async () => {
    const [client] = (await start(SMALL)) as [SocketClient];
    await occupy(client, 'a', 'one');
    client.create({ stream_id: 'a', input: large });
    client.create({ stream_id: 'a', input: large });
    client.create({ stream_id: 'a', input: 'small' });
    expect(await client.nextEnd('a')).toMatchObject({ ...TOO_MANY, stream_id: 'a' });
    await expectNoError(client);
    held.letGo('one');
    for (let turn = 0; turn < 3; turn += 1) expect(await client.nextEnd('a')).toMatchObject(isCompleted);
    expect(service.app.get(ScriptedProvider).turns).toHaveLength(3);
    await occupy(client, 'a', 'two');
    client.create({ stream_id: 'a', input: large });
    await expectNoError(client);
    held.letGo('two');
    for (let turn = 0; turn < 2; turn += 1) expect(await client.nextEnd('a')).toMatchObject(isCompleted);
  });

  it('the queue of a socket refuses bytes beyond WS_QUEUE_TOTAL_BYTES of all connections, and takes them once another has gone', async () => {
    const [one, two] = (await start({ ...SMALL, WS_QUEUE_TOTAL_BYTES: 1024 }, 2)) as [SocketClient, SocketClient];
    await occupy(one, 'a', 'one');
    await occupy(two, 'b', 'two');
    one.create({ stream_id: 'a', input: large });
    await expect(two.turn({ stream_id: 'free', input: large })).resolves.toMatchObject(isCompleted);
    // It may have overtaken the frame of the other socket: wait until that one is known to wait.
    await whenQueued(service, 1);
    two.create({ stream_id: 'b', input: large });
    expect(await two.nextEnd('b')).toMatchObject({ ...TOO_MANY, stream_id: 'b' });
    one.socket.terminate();
    await one.closed;
    await whenQueued(service, 0);
    two.create({ stream_id: 'b', input: large });
    await expectNoError(two);
    held.letGo('two');
    for (let turn = 0; turn < 2; turn += 1) expect(await two.nextEnd('b')).toMatchObject(isCompleted);
  });
});

/** Sees to it that what was sent so far has been taken, and was not refused. */
async function expectNoError(client: SocketClient): Promise<void> {
  await client.roundTrip();
  expect(client.unread.filter(({ type }) => type === 'error')).toEqual([]);
}

/** Resolves when so many turns wait on all connections. */
async function whenQueued(service: Service, count: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`${service.baseURL}/connections`);
    const { data } = (await answer.json()) as { readonly data: readonly { readonly queued: number }[] };
    if (data.reduce((sum, { queued }) => sum + queued, 0) === count) return;
  }
}
