import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis as Client } from 'ioredis';

import type { Tenant } from '../../src/access/index.js';
import { BOOKMARK_MS } from '../../src/state/bookmark.js';
import type { BackgroundRuns, ResponseStore } from '../../src/state/index.js';
import { toKey } from '../../src/state/keys.js';
import { RedisKeys } from '../../src/state/redis/keys.js';
import { heardBy } from '../../src/testing/state/heard.js';
import {
  append,
  contextFrom,
  contextOf,
  LEASE_MS,
  message,
  newTenant,
  purge,
  recordOf,
  START,
  TTL_MS,
} from '../../src/testing/state/records.js';
import { endingOf, launch } from '../../src/testing/state/runs.js';
import { findKeys } from '../support/redis/remove-keys.js';
import { repeatWrites, RoundTrips } from './redis-calls.js';
import { openRedis, type OpenedRedis } from './redis-fixture.js';

const url = process.env['TEST_REDIS_URL'] ?? '';
const PAGE = { limit: 100, order: 'asc' } as const;
const MINUTE_MS = 60_000;

describe('responses in Redis', () => {
  let opened: OpenedRedis;
  let store: ResponseStore;
  let runs: BackgroundRuns;
  let client: Client;
  let keys: RedisKeys;
  let tenant: Tenant;

  beforeAll(() => {
    client = new Client(url);
  });
  beforeEach(async () => {
    tenant = newTenant();
    opened = await openRedis();
    ({ responses: store, runs } = opened.backend);
    keys = new RedisKeys(opened.prefix);
  });
  afterEach(() => opened.close());
  afterAll(async () => {
    await client.quit();
  });

  /** All keys of a response and what lists it, with how long they live, ms. */
  const lifetimes = async (pattern = '*'): Promise<ReadonlyMap<string, number>> => {
    const found = await findKeys(url, `${opened.prefix}:${pattern}`);
    return new Map(await Promise.all(found.map(async (key) => [key, await client.pttl(key)] as const)));
  };

  describe('cost', () => {
    it('a response costs one round trip to save, whatever it has', async () => {
      await append(store, tenant, 'a');
      const lease = await opened.backend.locks.tryAcquire(tenant, 'a', LEASE_MS);
      const given = [{ after: 1, items: [message('given')] }];
      using trips = new RoundTrips();
      await store.save(tenant, recordOf('b', { parentId: 'a', sessionId: 'a', fence: lease?.fence ?? 0, given }));
      expect(trips.take()).toBe(1);
    });

    it('two round trips to save in a fork, whose lock lies elsewhere', async () => {
      await append(store, tenant, 'a');
      await opened.backend.sessions.fork(tenant, { sourceId: 'a', targetId: 'fork' });
      const lease = await opened.backend.locks.tryAcquire(tenant, 'fork', LEASE_MS);
      using trips = new RoundTrips();
      await store.save(tenant, recordOf('b', { parentId: 'a', sessionId: 'fork', fence: lease?.fence ?? 0 }));
      expect(trips.take()).toBe(2);
      await opened.expireLeases();
      await opened.backend.locks.tryAcquire(tenant, 'fork', LEASE_MS);
      const late = recordOf('late', { parentId: 'b', sessionId: 'fork', fence: lease?.fence ?? 0 });
      await expect(store.save(tenant, late)).rejects.toThrow('the lock on fork was lost');
      expect(await contextOf(store, tenant, 'b')).toEqual(contextFrom('a', 'b'));
    });

    it.each([1, 300])('a chain of %d costs one or two round trips to read', async (length) => {
      const ids = Array.from({ length }, (_, index) => `r${index}`);
      for (const [index, id] of ids.entries()) {
        await store.save(tenant, recordOf(id, { parentId: ids[index - 1] ?? null, sessionId: 'long' }));
      }
      const other = await opened.replica();
      using trips = new RoundTrips();
      const last = `r${length - 1}`;
      for (const [replica, expected] of [
        [opened.backend, 1],
        [other, 2],
        [other, 1],
      ] as const) {
        expect(await contextOf(replica.responses, tenant, last)).toEqual(contextFrom(...ids));
        expect(trips.take()).toBe(expected);
      }
    });
  });

  it('a response is stored once by commands that a broken connection has repeated', async () => {
    using _ = repeatWrites();
    await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a' });
    expect(await opened.backend.sessions.fork(tenant, { sourceId: 'a', targetId: 'fork' })).toEqual({ responses: 2 });
    const { data } = await opened.backend.graph.list(tenant, { sessionId: 'fork' }, PAGE);
    expect(data.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(await contextOf(store, tenant, 'b')).toEqual(contextFrom('a', 'b'));
  });

  it('a response is deleted once, and announced, by commands that a broken connection has repeated', async () => {
    await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a', sessionId: 'other' });
    await append(store, tenant, 'c', { sessionId: 'left' });
    await append(store, tenant, 'd', { parentId: 'c', sessionId: 'left' });
    await opened.backend.sessions.fork(tenant, { sourceId: 'left', targetId: 'fork', upToResponseId: 'c' });
    const other = await opened.replica();
    const heard = heardBy(opened.backend);
    using _ = repeatWrites();
    expect(await store.delete(tenant, 'a', { cascade: true })).toBe(2);
    expect(heard).toEqual(new Set(['a', 'b']));
    expect(await client.zcard(keys.slot(tenant, 'other').members)).toBe(0);
    expect(await opened.backend.sessions.delete(tenant, 'left')).toBe(true);
    expect(heard).toEqual(new Set(['a', 'b', 'c', 'd']));
    expect(await contextOf(other.responses, tenant, 'c')).toEqual(contextFrom('c'));
    expect(await store.get(tenant, 'd')).toBeUndefined();
    expect(await opened.backend.sessions.delete(tenant, 'left')).toBe(false);
    expect(await store.delete(tenant, 'a', { cascade: true })).toBe(0);
  });

  describe('keys', () => {
    it('all live as long as the response, and not much longer', async () => {
      const given = [{ after: 0, items: [message('given')] }];
      await append(store, tenant, 'a', { given, metadata: { kind: 'one' }, inherited: [message('before')] });
      await append(store, tenant, 'b', { parentId: 'a', sessionId: 'other' });
      const found = await lifetimes();
      expect(found.size).toBeGreaterThan(15);
      for (const [key, lifetime] of found) {
        expect([key, lifetime > TTL_MS, lifetime < 1.5 * TTL_MS]).toEqual([key, true, true]);
      }
    });

    it('keys of ancestors live as long as what continues them, also when nobody purges', async () => {
      await append(store, tenant, 'a');
      await append(store, tenant, 'b', { parentId: 'a' });
      await append(store, tenant, 'c', { parentId: 'b', expiresAt: START + 10 * TTL_MS });
      const { base } = keys.slot(tenant, 'a');
      const found = await lifetimes(`{${/\{(.*)\}/.exec(base)?.[1] ?? ''}}:r:*`);
      expect([...found.keys()].filter((key) => key.startsWith(`${base}:r:a`))).toHaveLength(5);
      for (const [key, lifetime] of found) expect([key, lifetime > 10 * TTL_MS]).toEqual([key, true]);
      opened.clock.advance(5 * TTL_MS);
      expect(await store.get(tenant, 'a')).toBeUndefined();
      expect(await contextOf(store, tenant, 'c')).toEqual(contextFrom('a', 'b', 'c'));
    });

    it('keys of ancestors of a background response live as long as what continues that, years later', async () => {
      const days = (count: number): number => count * 24 * 60 * MINUTE_MS;
      await append(store, tenant, 'a', { sessionId: 's' });
      const run = await launch(opened.backend, tenant, 'bg', { parentId: 'a', sessionId: 's' });
      await runs.finish(run, endingOf('bg', { expiresAt: START + days(300) }));
      const { base } = keys.slot(tenant, 's');
      const keysOfA = (): Promise<ReadonlyMap<string, number>> =>
        lifetimes(`{${/\{(.*)\}/.exec(base)?.[1] ?? ''}}:r:a*`);
      const before = (await keysOfA()).size;
      let parentId = 'bg';
      for (let month = 1; month < 16; month += 1) {
        opened.clock.advance(days(30));
        // The time of Redis goes by as well.
        for (const [key, lifetime] of await keysOfA()) await client.pexpire(key, lifetime - days(30));
        const expiresAt = opened.clock.now() + days(300);
        await append(store, tenant, `r${month}`, { parentId, sessionId: 's', expiresAt });
        parentId = `r${month}`;
      }
      const found = await keysOfA();
      expect(found.size).toBe(before);
      for (const [key, lifetime] of found) expect([key, lifetime >= days(300)]).toEqual([key, true]);
    });

    it('keys of ancestors are seldom made to live longer', async () => {
      await append(store, tenant, 'a');
      const response = keys.slot(tenant, 'a').response('a');
      const until = (): Promise<string | null> => client.hget(response, 'until');
      const before = await until();
      opened.clock.advance(TTL_MS / 10);
      await append(store, tenant, 'b', { parentId: 'a', expiresAt: opened.clock.now() + TTL_MS });
      expect(await until()).toBe(before);
      opened.clock.advance(TTL_MS / 10);
      await append(store, tenant, 'c', { parentId: 'b', expiresAt: opened.clock.now() + TTL_MS });
      expect(Number(await until())).toBeGreaterThan(opened.clock.now() + TTL_MS);
    });

    /** What is left of responses, without their bookmarks and what finds these. */
    const left = async (): Promise<readonly string[]> =>
      [...(await lifetimes()).keys()].filter((key) => !/:gone:|:at:|:sweep$/.test(key));

    it('keys go with the response, and its place is remembered by its bookmark alone', async () => {
      await append(store, tenant, 'a');
      await append(store, tenant, 'b', { parentId: 'a', sessionId: 'other' });
      await store.delete(tenant, 'a', { cascade: true });
      for (const [key, lifetime] of await lifetimes()) {
        if (/:gone:|:at:/.test(key)) expect([key, lifetime <= BOOKMARK_MS + 10 * MINUTE_MS]).toEqual([key, true]);
      }
      expect(await left()).toEqual([]);
    });

    it('keys that are purged go from all indexes', async () => {
      await append(store, tenant, 'a');
      await append(store, tenant, 'b', { parentId: 'a', sessionId: 'other', expiresAt: START + 2 * TTL_MS });
      opened.clock.advance(TTL_MS);
      await purge(store);
      expect(await contextOf(store, tenant, 'b')).toEqual(contextFrom('a', 'b'));
      opened.clock.advance(TTL_MS);
      await purge(store);
      expect(await left()).toEqual([]);
    });
  });

  describe('entries of indexes that name nothing', () => {
    const listed = async (sessionId?: string): Promise<readonly string[]> => {
      const filter = sessionId === undefined ? {} : { sessionId };
      return (await opened.backend.graph.list(tenant, filter, PAGE)).data.map(({ id }) => id);
    };

    it('index entries that name nothing are skipped, and removed when they have named nothing for a minute', async () => {
      await append(store, tenant, 'a', { input: [message('same', 'a')] });
      await append(store, tenant, 'lost', { input: [message('same', 'lost')], sessionId: 'a' });
      const indexes = [keys.responsesOf(tenant), keys.slot(tenant, 'a').members, keys.holders(tenant, 'same')];
      const sizes = (): Promise<readonly number[]> => Promise.all(indexes.map((index) => client.zcard(index)));
      const look = async (): Promise<void> => {
        expect(await listed()).toEqual(['a']);
        expect(await listed('a')).toEqual(['a']);
        expect((await store.items(tenant, ['same'])).get('same')).toEqual(message('same', 'a'));
      };
      await client.del(await client.keys(`${keys.slot(tenant, 'a').response('lost')}*`));
      await look();
      opened.clock.advance(MINUTE_MS - 1);
      await look();
      expect(await sizes()).toEqual([2, 2, 2]);
      opened.clock.advance(1);
      await look();
      expect(await sizes()).toEqual([1, 1, 1]);
    });

    it('index entries that name nothing do not end a page', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await append(store, tenant, id);
      for (const id of ['a', 'b', 'c']) await client.del(keys.slot(tenant, id).response(id));
      const page = await opened.backend.graph.list(tenant, {}, { ...PAGE, limit: 1 });
      expect([page.data.map(({ id }) => id), page.hasMore]).toEqual([['d'], false]);
    });

    it('index entries that name nothing are removed by the purge when they should have expired long ago', async () => {
      const heard = heardBy(opened.backend);
      await append(store, tenant, 'a');
      await client.del(await client.keys(`${keys.slot(tenant, 'a').response(toKey('a'))}*`));
      opened.clock.advance(TTL_MS);
      await purge(store);
      expect((await lifetimes('expiring:*')).size).toBe(1);
      opened.clock.advance(MINUTE_MS);
      await purge(store);
      expect((await lifetimes('expiring:*')).size).toBe(0);
      expect(heard).toEqual(new Set());
    });
  });
});
