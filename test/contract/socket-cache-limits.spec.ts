import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { ResponseStore } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { type Service, startService } from '../support/service.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

/** One text of 8 kB in memory, and what belongs to it. */
const LARGE = 'x'.repeat(4000);

describe('the limits of what connections remember', () => {
  const observer = new RecordingObserver();
  let service: Service;

  const start = async (environment: Record<string, unknown>): Promise<void> => {
    observer.records.length = 0;
    service = await startService({ providers: [ScriptedProvider], environment, imports: [observer.asModule()] });
  };

  const startWithTotal = (bytes: number): Promise<void> =>
    start({ WS_CACHE_MAX_BYTES: bytes, WS_CACHE_TOTAL_BYTES: bytes });

  afterEach(() => service.close());

  /** One turn whose answer is large; gives the response's id. */
  const say = async (client: SocketClient, stream_id: string, store = false): Promise<string> => {
    service.app.get(ScriptedProvider).reply({ type: 'text', delta: LARGE });
    return (await client.turn({ stream_id, input: 'Hi', store })).response.id;
  };

  const isKnown = async (client: SocketClient, stream_id: string, id: string): Promise<boolean> => {
    client.create({ stream_id, input: [], generate: false, store: false, previous_response_id: id });
    const frame = await client.nextOf(stream_id);
    if (frame.type === 'error') expect(frame).toMatchObject(parentNotFound(id));
    else await client.nextOf(stream_id);
    return frame.type !== 'error';
  };

  it('the cache of a connection forgets the lanes that were used longest ago beyond WS_CACHE_MAX_BYTES', async () => {
    await start({ WS_CACHE_MAX_BYTES: 20_000 });
    await using client = await SocketClient.open(service);
    const ids = [await say(client, 'a'), await say(client, 'b')];
    // It was used last, by a fork, hence the other one goes.
    expect(await isKnown(client, 'fork', ids[0] ?? '')).toBe(true);
    await say(client, 'c');
    expect(await isKnown(client, 'check', ids[1] ?? '')).toBe(false);
    expect(await isKnown(client, 'check', ids[0] ?? '')).toBe(true);
  });

  it('the cache of a connection counts what lanes share only once', async () => {
    await start({ WS_CACHE_MAX_BYTES: 20_000 });
    await using client = await SocketClient.open(service);
    const root = await say(client, 'root');
    const forks: string[] = [];
    for (const stream_id of ['a', 'b', 'c', 'd']) {
      const { response } = await client.turn({ stream_id, input: 'Fork', store: false, previous_response_id: root });
      forks.push(response.id);
    }
    for (const [index, stream_id] of ['a', 'b', 'c', 'd'].entries()) {
      expect(await isKnown(client, stream_id, forks[index] ?? '')).toBe(true);
    }
    expect(await isKnown(client, 'root', root)).toBe(true);
  });

  it('the cache of a connection forgets even the latest response if it alone is too large, but continues it from the store', async () => {
    await start({ WS_CACHE_MAX_BYTES: 4096 });
    await using client = await SocketClient.open(service);
    const provider = service.app.get(ScriptedProvider);
    const unstored = await say(client, 'a');
    expect(await isKnown(client, 'a', unstored)).toBe(false);
    const stored = await say(client, 'a', true);
    const chain = jest.spyOn(service.app.get(ResponseStore), 'chain');
    await client.turn({ stream_id: 'a', input: 'On?', store: false, previous_response_id: stored });
    expect(chain).toHaveBeenCalledTimes(1);
    expect(provider.turns.at(-1)?.context).toHaveLength(3);
  });

  it('the cache of a connection counts a parent that left the cache while its fork was running', async () => {
    await start({ WS_CACHE_MAX_BYTES: 20_000 });
    await using client = await SocketClient.open(service);
    const held = new HeldTurns(service.app.get(ScriptedProvider));
    const parents = [await say(client, 'a'), await say(client, 'b')];
    held.hold(2);
    for (const [index, previous_response_id] of parents.entries()) {
      client.create({ stream_id: `fork-${index}`, input: `Fork ${index}`, store: false, previous_response_id });
    }
    await held.whenBegun(2);
    // Both lanes go on with something else, so that only the forks have their parents' texts now.
    const latest = [await say(client, 'a'), await say(client, 'b')];
    held.letAllGo();
    for (const index of [0, 1]) latest.push((await client.finish(`fork-${index}`)).response.id);
    // Four large texts are too much; two or fewer are left.
    const known = await Promise.all(latest.map((id, index) => isKnown(client, `check-${index}`, id)));
    expect(known.filter(Boolean).length).toBeLessThanOrEqual(2);
  });

  it('the cache of a connection counts nothing of what a lane has left behind', async () => {
    await start({ WS_CACHE_MAX_BYTES: 20_000 });
    await using client = await SocketClient.open(service);
    const kept = await say(client, 'kept');
    for (let turn = 0; turn < 5; turn += 1) await say(client, 'busy');
    expect(await isKnown(client, 'kept', kept)).toBe(true);
  });

  it('the cache of a connection remembers a lane again after it was forgotten', async () => {
    await start({ WS_CACHE_MAX_BYTES: 20_000 });
    await using client = await SocketClient.open(service);
    for (let turn = 0; turn < 10; turn += 1) {
      const lane = `lane-${turn % 4}`;
      expect(await isKnown(client, lane, await say(client, lane))).toBe(true);
    }
  });

  it('the cache takes from connections that have not grown for longest beyond WS_CACHE_TOTAL_BYTES', async () => {
    await startWithTotal(20_000);
    await using one = await SocketClient.open(service);
    await using two = await SocketClient.open(service);
    await using three = await SocketClient.open(service);
    const [first, second, third] = [await say(one, 'a'), await say(two, 'a'), await say(three, 'a')];
    expect(await isKnown(one, 'a', first)).toBe(false);
    expect(await isKnown(two, 'a', second)).toBe(true);
    expect(await isKnown(three, 'a', third)).toBe(true);
  });

  it('a connection continues what was taken from it from the store', async () => {
    await startWithTotal(12_000);
    await using one = await SocketClient.open(service);
    await using two = await SocketClient.open(service);
    const stored = await say(one, 'a', true);
    await say(two, 'a');
    const chain = jest.spyOn(service.app.get(ResponseStore), 'chain');
    expect(await isKnown(one, 'a', stored)).toBe(true);
    expect(chain).toHaveBeenCalledTimes(1);
  });

  it('the cache of connections does not count what a turn remembers whose connection went while it was saved', async () => {
    await startWithTotal(20_000);
    const store = service.app.get(ResponseStore);
    const save = store.save.bind(store);
    for (let connection = 0; connection < 4; connection += 1) {
      const [saving, goOn] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
      jest.spyOn(store, 'save').mockImplementationOnce(async (tenant, record) => {
        saving.resolve(undefined);
        await goOn.promise;
        await save(tenant, record);
      });
      const client = await SocketClient.open(service);
      service.app.get(ScriptedProvider).reply({ type: 'text', delta: LARGE });
      client.create({ input: 'Hi' });
      await saving.promise;
      client.socket.terminate();
      await whenLeft(service, 0);
      goOn.resolve(undefined);
      await observer.whenSettled(connection + 1);
    }
    await using client = await SocketClient.open(service);
    expect(await isKnown(client, 'a', await say(client, 'a'))).toBe(true);
  });

  it('the cache of connections has room again for the others when a connection goes', async () => {
    await startWithTotal(20_000);
    await using client = await SocketClient.open(service);
    const kept = await say(client, 'a');
    for (let connection = 0; connection < 4; connection += 1) {
      const other = await SocketClient.open(service);
      const id = await say(other, 'a');
      expect(await isKnown(other, 'a', id)).toBe(true);
      await other.close();
      await whenLeft(service, 1);
    }
    expect(await isKnown(client, 'a', kept)).toBe(true);
  });
});

/** Resolves when the service has so many connections left. */
async function whenLeft(service: Service, count: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`${service.baseURL}/connections`);
    const { data } = (await answer.json()) as { readonly data: readonly unknown[] };
    if (data.length === count) return;
  }
}
