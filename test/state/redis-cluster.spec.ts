import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { WriteLockLostError } from '../../src/state/index.js';
import { createConversation, openConversation, partsIn, turnIn } from '../../src/testing/state/conversations.js';
import { append, contextFrom, contextOf, LEASE_MS, message, newTenant } from '../../src/testing/state/records.js';
import { endingOf, launch } from '../../src/testing/state/runs.js';
import { SystemClock } from '../../src/time/index.js';
import { CLUSTER_URL, describeRedis } from '../support/redis/describe-redis.js';
import { nodeOf, PRIMARIES, slotOf } from '../support/redis/redis-cluster.js';
import { findKeys } from '../support/redis/remove-keys.js';
import { type OpenedRedis, openRedis } from './redis-fixture.js';

function distinct(values: readonly (string | number)[]): number {
  return new Set(values).size;
}

describeRedis('keys of a cluster', () => {
  let opened: OpenedRedis;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await openRedis(CLUSTER_URL);
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  /** The keys of all chains and conversations that there are, by the bases of their places. */
  const placed = async (): Promise<ReadonlyMap<string, readonly string[]>> => {
    const keys = (await findKeys(CLUSTER_URL, `${opened.prefix}:*`)).filter((key) =>
      /\}:(r:|item|conversation)/.test(key),
    );
    return Map.groupBy(keys, (key) => key.slice(0, key.indexOf('}') + 1));
  };
  const since = async (happens: () => Promise<unknown>): Promise<ReadonlyMap<string, readonly string[]>> => {
    const before = await placed();
    await happens();
    return new Map([...(await placed())].filter(([base]) => !before.has(base)));
  };

  it('keys lie in one slot for a chain with its forks, its background responses and their logs', async () => {
    const { backend } = opened;
    const found = await since(async () => {
      await append(backend.responses, tenant, 'a');
      await append(backend.responses, tenant, 'b', { parentId: 'a' });
      await append(backend.responses, tenant, 'fork', { parentId: 'a', sessionId: 'another' });
      const run = await launch(backend, tenant, 'bg', { parentId: 'fork', sessionId: 'a third' });
      await backend.runs.finish(run, endingOf('bg', { parentId: 'fork', sessionId: 'a third', at: 3 }));
    });
    expect(found.size).toBe(1);
    const keys = [...found.values()].flat();
    for (const end of ['a:body', 'b:output', 'fork:input', 'bg:log', 'a:children', 'fork:children']) {
      expect(keys.some((key) => key.endsWith(`:r:${end}`))).toBe(true);
    }
    expect(distinct(keys.map(slotOf))).toBe(1);
    expect(await contextOf(backend.responses, tenant, 'bg')).toEqual(contextFrom('a', 'fork', 'bg'));
  });

  it('keys lie in one slot for a conversation with its turns, in the foreground and in the background', async () => {
    const { backend } = opened;
    const found = await since(async () => {
      await createConversation(backend, tenant, 'c', 'first');
      await turnIn(backend, tenant, 'c', 'r');
      const run = await launch(backend, tenant, 'bg', { conversationId: 'c' });
      const lease = await openConversation(backend, tenant, 'c');
      await backend.runs.finish(run, endingOf('bg', { ...partsIn('c', lease), at: 3 }));
      await append(backend.responses, tenant, 'after', { parentId: 'bg' });
    });
    expect(found.size).toBe(1);
    const keys = [...found.values()].flat();
    for (const end of ['}:items', '}:item-ids', '}:conversation', ':r:bg:log', ':r:r:output', ':r:after']) {
      expect(keys.some((key) => key.endsWith(end))).toBe(true);
    }
    expect(distinct(keys.map(slotOf))).toBe(1);
  });

  it('the keys of a tenant with many chains are spread over all nodes of a cluster', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `chain-${index}`);
    const found = await since(() => Promise.all(ids.map((id) => append(opened.backend.responses, tenant, id))));
    const places = [...found.keys()];
    expect(places).toHaveLength(ids.length);
    expect(distinct(places.map(slotOf))).toBeGreaterThan(ids.length / 2);
    expect(distinct(places.map(nodeOf))).toBe(PRIMARIES);
  });

  it('two tenants who use the same names find their keys on nodes of their own', async () => {
    const tenants = Array.from({ length: 20 }, () => newTenant());
    const { responses } = opened.backend;
    const found = await since(() =>
      Promise.all(tenants.map((one) => append(responses, one, 'same', { output: [message(one)] }))),
    );
    expect(distinct([...found.keys()].map(nodeOf))).toBe(PRIMARIES);
    for (const one of tenants) expect(await contextOf(responses, one, 'same')).toEqual(['same-in', one]);
  });

  it('keys of a fork are saved under the lock of its session, whose slot is on another node', async () => {
    const { backend } = opened;
    const sessions = Array.from({ length: 30 }, (_, index) => `fork-${index}`);
    await append(backend.responses, tenant, 'root');
    const found = await since(async () => {
      for (const sessionId of sessions) {
        const lease = await backend.locks.tryAcquire(tenant, sessionId, LEASE_MS);
        await append(backend.responses, tenant, sessionId, { parentId: 'root', sessionId, fence: lease?.fence ?? 0 });
      }
    });
    // All of them in the slot of the root.
    expect(found.size).toBe(0);
    const leases = await findKeys(CLUSTER_URL, `${opened.prefix}:*:lease`);
    expect(distinct(leases.map(nodeOf))).toBe(PRIMARIES);
    await opened.expireLeases();
    for (const sessionId of sessions) {
      expect(await backend.sessions.hasAtLeast(tenant, sessionId, 1)).toBe(true);
      const late = await backend.locks.tryAcquire(tenant, sessionId, LEASE_MS);
      await late?.release();
      const parts = { parentId: sessionId, sessionId, fence: late?.fence ?? 0 };
      const save = append(backend.responses, tenant, `late-${sessionId}`, parts);
      await expect(save).rejects.toBeInstanceOf(WriteLockLostError);
    }
  });

  it('keys of a background response cannot end in a conversation that it was not created for', async () => {
    const { backend } = opened;
    await createConversation(backend, tenant, 'c');
    const run = await launch(backend, tenant, 'bg');
    const lease = await openConversation(backend, tenant, 'c');
    const finished = backend.runs.finish(run, endingOf('bg', { ...partsIn('c', lease), at: 3 }));
    await expect(finished).rejects.toThrow('response bg was not created in conversation c');
  });
});

describeRedis('the replicas of a service with a cluster', () => {
  it('replicas with a cluster hear of each other, whichever node each of them listens to', async () => {
    await using opened = await openRedis(CLUSTER_URL);
    const tenant = newTenant();
    const hosts = (CLUSTER_URL ?? '').replace(/.*\/\//, '').split(',');
    const urls = hosts.map(
      (_, index) => `redis+cluster://${[...hosts.slice(index), ...hosts.slice(0, index)].join(',')}`,
    );
    const others = await Promise.all(urls.map((url) => opened.replica({ REDIS_URL: url }, new SystemClock())));
    const heard = others.map(({ notices, runNotices }) => {
      const listens = Promise.withResolvers<undefined>();
      const deleted = Promise.withResolvers<readonly string[]>();
      const ended = Promise.withResolvers<readonly string[]>();
      const heardAll = { isInterrupted: false };
      notices.subscribe({
        deleted: (ids) => deleted.resolve(ids),
        interrupted: () => (heardAll.isInterrupted = true),
        resumed: () => listens.resolve(undefined),
      });
      // It may have begun to listen while the others started.
      if (!heardAll.isInterrupted) listens.resolve(undefined);
      runNotices.subscribe({ ended: (ids) => ended.resolve(ids) });
      return { listens, deleted, ended };
    });
    await Promise.all(heard.map(({ listens }) => listens.promise));
    const { responses, runs } = opened.backend;
    await append(responses, tenant, 'gone');
    await launch(opened.backend, tenant, 'bg');
    await responses.delete(tenant, 'gone', { cascade: false });
    await runs.conclude(tenant, 'bg', () => endingOf('bg', { status: 'cancelled', output: [], at: 3 }), {});
    for (const { deleted, ended } of heard) {
      expect(await deleted.promise).toEqual(['gone']);
      expect(await ended.promise).toEqual(['bg']);
    }
  });
});
