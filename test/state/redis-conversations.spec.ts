import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis as Client } from 'ioredis';

import type { Tenant } from '../../src/access/index.js';
import { conversationLock, type StateBackend } from '../../src/state/index.js';
import { RedisKeys } from '../../src/state/redis/keys.js';
import {
  createConversation,
  idsOf,
  listedIn,
  openConversation,
  partsIn,
  seenIn,
  turnIn,
} from '../../src/testing/state/conversations.js';
import {
  append,
  contextFrom,
  contextOf,
  message,
  newTenant,
  recordOf,
  START,
  TTL_MS,
} from '../../src/testing/state/records.js';
import { startRedis, type RedisServer } from '../support/redis/redis-server.js';
import { repeatWrites, RoundTrips } from './redis-calls.js';
import { openRedis, type OpenedRedis } from './redis-fixture.js';
import { testConversationsOfReplicas } from './replica-conversations.js';

describe('conversations of replicas over one Redis', () => {
  let server: RedisServer;
  let opened: OpenedRedis;
  let one: StateBackend;
  let other: StateBackend;
  let client: Client;
  let keys: RedisKeys;
  let tenant: Tenant;

  beforeAll(async () => {
    // One of its own: what it counts is of this file.
    server = await startRedis();
    opened = await openRedis(server.url);
    one = opened.backend;
    other = await opened.replica();
    client = new Client(server.url);
    keys = new RedisKeys(opened.prefix);
  });
  beforeEach(async () => {
    tenant = newTenant();
    await createConversation(one, tenant, 'c', 'a');
  });
  afterAll(async () => {
    await client.quit();
    await opened.close();
    await server.stop();
  });

  const add = ({ conversations }: StateBackend, ...ids: readonly string[]): Promise<unknown> =>
    conversations.append(
      tenant,
      'c',
      ids.map((id) => message(id)),
    );
  const placeOf = (id: string): readonly string[] => {
    const { conversation, items, itemIds } = keys.slot(tenant, conversationLock(id));
    return [conversation, items, itemIds];
  };
  const lifetimesOf = (id: string): Promise<readonly number[]> =>
    Promise.all(placeOf(id).map((key) => client.pttl(key)));

  testConversationsOfReplicas(() => ({
    one,
    other,
    tenant,
    expectExactSize: async () => {
      const items = (await one.conversations.read(tenant, 'c'))?.items ?? [];
      const bytes = items.reduce((total, item) => total + Buffer.byteLength(JSON.stringify(item)), 0);
      expect(await client.hget(placeOf('c')[0] ?? '', 'size')).toBe(String(bytes));
    },
  }));

  it('a conversation is changed once by commands that a broken connection has repeated', async () => {
    using _ = repeatWrites();
    await createConversation(one, tenant, 'twice', 'a', 'b');
    expect(await one.conversations.append(tenant, 'twice', [message('d')])).toBeUndefined();
    expect(await one.conversations.deleteItem(tenant, 'twice', 'b')).toMatchObject({ id: 'twice' });
    const lease = await openConversation(one, tenant, 'twice');
    await one.responses.save(tenant, recordOf('r', partsIn('twice', lease)));
    expect(await lease.renew()).toBe(false);
    expect(await seenIn(other, tenant, 'twice')).toEqual(['a', 'd', ...contextFrom('r')]);
    expect((await other.conversations.read(tenant, 'twice'))?.version).toBe(lease.version + 1);
  });

  it('a conversation is read again when Redis has lost changes, though others have led to the version that is known', async () => {
    const version = async ({ conversations }: StateBackend): Promise<number | undefined> =>
      (await conversations.read(tenant, 'c'))?.version;
    const saved = await Promise.all(placeOf('c').map((key) => client.dumpBuffer(key)));
    await turnIn(one, tenant, 'c', 'lost');
    const known = (await version(one)) ?? 0;
    for (const [index, key] of placeOf('c').entries()) await client.restore(key, 0, saved[index] ?? '', 'REPLACE');
    await turnIn(other, tenant, 'c', 'kept');
    expect(await version(other)).toBe(known);
    const lease = await openConversation(one, tenant, 'c', known);
    expect(idsOf(lease)).toEqual(['a', ...contextFrom('kept')]);
    await lease.release();
    // Whoever has the version may have read it before.
    const again = await openConversation(one, tenant, 'c', known);
    expect(idsOf(again)).toEqual(['a', ...contextFrom('kept')]);
    await again.release();
    await turnIn(one, tenant, 'c', 'next');
    expect((await openConversation(one, tenant, 'c', known + 1)).items).toBeNull();
  });

  it('conversations do not expire until they are deleted: then they are kept as long as a response needs them', async () => {
    await turnIn(one, tenant, 'c', 'r');
    expect(await lifetimesOf('c')).toEqual([-1, -1, -1]);
    await one.conversations.delete(tenant, 'c');
    const lifetimes = await lifetimesOf('c');
    for (const lifetime of lifetimes) expect(lifetime).toBeGreaterThan(TTL_MS);
    await append(one.responses, tenant, 'child', { parentId: 'r', expiresAt: START + 10 * TTL_MS });
    for (const lifetime of await lifetimesOf('c')) expect(lifetime).toBeGreaterThan(10 * TTL_MS);
    expect(await contextOf(other.responses, tenant, 'child')).toEqual(['a', ...contextFrom('r', 'child')]);
  });

  it('a conversation is not asked for ever for items that an index says it has', async () => {
    const index = (id: string): string => keys.conversationsWith(tenant, id);
    await client.zadd(index('gone'), opened.clock.now() - 120_000, '"c"');
    await client.zadd(index('coming'), opened.clock.now() - 1000, '"c"');
    await client.zadd(index('a'), opened.clock.now() + 1000, '"no such conversation"');
    expect(await one.responses.items(tenant, ['gone', 'coming', 'a'])).toEqual(new Map([['a', message('a')]]));
    expect(await client.exists(index('gone'))).toBe(0);
    expect(await client.exists(index('coming'))).toBe(1);
  });

  it('conversations leave nothing that does not expire of items that they refuse', async () => {
    const lasting = async (): Promise<readonly string[]> => {
      const names = await client.keys(`${opened.prefix}:*`);
      const lifetimes = await Promise.all(names.map((name) => client.pttl(name)));
      return names.filter((_, index) => lifetimes[index] === -1).sort();
    };
    const { conversations, responses } = one;
    await Promise.all(['locked', 'changed', 'deleted'].map((id) => createConversation(one, tenant, id, 'a')));
    const locked = await openConversation(one, tenant, 'locked');
    const changed = await conversations.read(tenant, 'changed');
    const deleted = await openConversation(one, tenant, 'deleted');
    await conversations.delete(tenant, 'deleted');
    const before = await lasting();
    opened.clock.advance(1000);

    for (const id of ['nothing', 'locked', 'deleted']) {
      expect(await conversations.append(tenant, id, [message('b'), message('d')])).toHaveProperty('refused');
    }
    expect(await add(one, 'b', 'a')).toEqual({ refused: 'duplicate_item', itemId: 'a' });
    const turns = [
      recordOf('r1', partsIn('deleted', deleted)),
      recordOf('r2', { conversation: { id: 'changed', version: (changed?.version ?? 0) - 1 } }),
      recordOf('r3', partsIn('locked', { ...locked, fence: locked.fence + 1 })),
      recordOf('r4', { input: [message('a')], conversation: { id: 'c', version: 0 } }),
    ];
    for (const turn of turns) {
      await expect(Promise.resolve(responses.save(tenant, turn))).rejects.toThrow(/conversation|lock/);
    }
    expect(await lasting()).toEqual(before);
    expect(await responses.items(tenant, ['a', 'b', 'r1-in'])).toEqual(new Map([['a', message('a')]]));
    await locked.release();
  });

  it('conversations of 10,000 items cost a turn that knows the version as little as short ones', async () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `item-${index}`);
    await createConversation(one, tenant, 'long', ...ids);
    const cost = async (id: string): Promise<object> => {
      await turnIn(one, tenant, id, `first-${id}`);
      const known = (await one.conversations.read(tenant, id))?.version;
      await client.config('RESETSTAT');
      const lease = await openConversation(one, tenant, id, known);
      expect(lease.items).toBeNull();
      await one.responses.save(tenant, recordOf(`second-${id}`, partsIn(id, lease)));
      const [commands, stats] = [await client.info('commandstats'), await client.info('stats')];
      const calls = [...commands.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(([, name, count]) => `${name} ${count}`);
      const bytes = Number(/total_net_output_bytes:(\d+)/.exec(stats)?.[1]);
      return {
        // A lifetime is renewed where a millisecond of the server has passed since it was set.
        calls: calls.filter((call) => !/^(info|config|publish|subscribe|wait|ping|pexpire)/.test(call)).sort(),
        isSmall: bytes < 10_000,
      };
    };
    await createConversation(one, tenant, 'tiny', 'a');
    expect(await cost('long')).toEqual({ ...(await cost('tiny')), isSmall: true });
    expect(await listedIn(other.conversations, tenant, 'long')).toEqual([
      ...ids,
      ...contextFrom('first-long', 'second-long'),
    ]);
    expect((await other.responses.chain(tenant, 'second-long'))?.items).toHaveLength(10_004);
  });

  it('conversations cost one round trip for everything about them, also for items with their index; what deletes items takes them out of the index in another', async () => {
    const { conversations: store, responses } = one;
    let lease = { version: 0, fence: 0 };
    const open = async (): Promise<void> => {
      lease = await openConversation(one, tenant, 'new');
    };
    const page = { limit: 10, order: 'asc', after: 'a' } as const;
    const steps: readonly (readonly [trips: number, step: () => unknown])[] = [
      [1, () => createConversation(one, tenant, 'new', 'a')],
      [1, () => store.append(tenant, 'new', [message('b'), message('d')])],
      [2, () => store.deleteItem(tenant, 'new', 'b')],
      [1, () => store.get(tenant, 'new')],
      [1, () => store.update(tenant, 'new', {})],
      [1, () => store.read(tenant, 'new')],
      [1, () => store.items(tenant, 'new', page)],
      [1, () => store.item(tenant, 'new', 'a')],
      [1, open],
      [1, () => responses.save(tenant, recordOf('in-new', partsIn('new', lease)))],
      [1, () => responses.chain(tenant, 'in-new')],
      [2, () => store.delete(tenant, 'new')],
    ];
    using trips = new RoundTrips();
    for (const [expected, step] of steps) {
      await step();
      expect(trips.take()).toBe(expected);
    }
  });
});
