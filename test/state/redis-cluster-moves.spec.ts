import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis as Client } from 'ioredis';

import { StoreUnavailableError } from '../../src/state/index.js';
import {
  append,
  contextFrom,
  contextOf,
  LEASE_MS,
  newTenant,
  recordOf,
  TTL_MS,
} from '../../src/testing/state/records.js';
import { batch, begins, launch } from '../../src/testing/state/runs.js';
import { SystemClock } from '../../src/time/index.js';
import { describeRedis } from '../support/redis/describe-redis.js';
import { nodeOf, PRIMARIES, type RedisCluster, slotOf, startRedisCluster } from '../support/redis/redis-cluster.js';
import { findKeys } from '../support/redis/remove-keys.js';
import { type OpenedRedis, openRedis, redisOf } from './redis-fixture.js';
import { whenServed } from './when-served.js';

describeRedis('a slot that moves to another node', () => {
  const tenant = newTenant();
  let cluster: RedisCluster;
  let opened: OpenedRedis;
  let clients: readonly Client[];

  beforeAll(async () => {
    cluster = await startRedisCluster();
    opened = await openRedis(cluster.url);
    clients = cluster.primaries.map(({ port }) => new Client(port));
  });
  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await opened.close();
    await cluster.stop();
  });

  /** Begins to move the slot of a key, and moves the keys whose names fit; what it returns moves the others. */
  const move = async (key: string, isFirst: (key: string) => boolean): Promise<() => Promise<void>> => {
    const slot = slotOf(key);
    const [from, to] = [nodeOf(key), (nodeOf(key) + 1) % PRIMARIES];
    const [source, target] = [clients[from] as Client, clients[to] as Client];
    const [sourceId, targetId] = await Promise.all([source, target].map((node) => node.call('CLUSTER', 'MYID')));
    const send = async (isSent: (key: string) => boolean): Promise<void> => {
      const names = (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, 1000)) as readonly string[];
      const port = cluster.primaries[to]?.port ?? 0;
      for (const name of names.filter(isSent)) await source.call('MIGRATE', '127.0.0.1', port, name, 0, 5000);
    };
    await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(sourceId));
    await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(targetId));
    await send(isFirst);
    return async () => {
      await send(() => true);
      for (const node of [target, source, ...clients])
        await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', String(targetId));
    };
  };
  /** Resolves when some nodes have sent somebody elsewhere so often. */
  const untilAsked = async (count: number): Promise<void> => {
    for (let asked = 0; asked < count;) {
      const infos = await Promise.all(clients.map((client) => client.info('errorstats')));
      asked = infos.reduce((sum, info) => sum + Number(/errorstat_ASK:count=(\d+)/.exec(info)?.[1] ?? 0), 0);
    }
  };

  it('a slot that moves to another node has its chains whole, and their saves wait for it', async () => {
    const backend = await opened.replica({}, new SystemClock());
    const { responses, locks } = backend;
    const expiresAt = new SystemClock().now() + TTL_MS;
    const lease = await locks.tryAcquire(tenant, 'a', LEASE_MS);
    for (const [id, parentId] of [
      ['a', null],
      ['b', 'a'],
      ['c', 'b'],
    ] as const) {
      await append(responses, tenant, id, { parentId, sessionId: 'a', fence: lease?.fence ?? 0, expiresAt });
    }
    const key = (await findKeys(cluster.url, '*:r:b')).at(0) ?? '';
    const finish = await move(key, (name) => name.includes(':r:b'));
    const parts = { parentId: 'c', sessionId: 'a', fence: lease?.fence ?? 0, expiresAt };
    const read = contextOf(responses, tenant, 'c');
    const saved = responses.save(tenant, recordOf('d', parts));
    await untilAsked(2);
    await finish();
    expect(await read).toEqual(contextFrom('a', 'b', 'c'));
    await saved;
    expect(await contextOf(responses, tenant, 'd')).toEqual(contextFrom('a', 'b', 'c', 'd'));
    expect(await lease?.renew()).toBe(true);
  });

  it('a slot that moves to another node lets single keys be read and written on either node', async () => {
    const redis = redisOf(opened.backend);
    await redis.write(['SET', 'x:{moving}:1', 1], ['SET', 'x:{moving}:2', 2]);
    const finish = await move('{moving}', (name) => name.endsWith('1'));
    const commands = ['1', '2'].map((name) => ['INCR', `x:{moving}:${name}`] as const);
    // Each is sent where it is.
    for (const command of commands) await redis.write(command);
    await redis.write(['SET', 'x:{moving}:3', 3]);
    await finish();
    expect(await redis.read(...['1', '2', '3'].map((name) => ['GET', `x:{moving}:${name}`] as const))).toEqual([
      '2',
      '3',
      '3',
    ]);
  });

  it('a slot that moves to another node is not available when that takes longer than a command may', async () => {
    const backend = await opened.replica({ REDIS_COMMAND_TIMEOUT_MS: 200 }, new SystemClock());
    const expiresAt = new SystemClock().now() + TTL_MS;
    await append(opened.backend.responses, tenant, 'slow', { expiresAt });
    const finish = await move((await findKeys(cluster.url, '*:r:slow')).at(0) ?? '', () => false);
    await expect(backend.responses.chain(tenant, 'slow')).rejects.toBeInstanceOf(StoreUnavailableError);
    await finish();
    expect(await whenServed(() => contextOf(backend.responses, tenant, 'slow'))).toEqual(contextFrom('slow'));
  });

  it('a slot that moves to another node takes the jobs of the queue with it', async () => {
    const backend = await opened.replica({}, new SystemClock());
    const finish = await move(`${opened.prefix}:{jobs}:turns:meta`, () => true);
    const launched = launch(backend, tenant, 'queued');
    await finish();
    const run = await launched;
    await backend.log.append(run, batch(3, begins(3)));
    const done = Promise.withResolvers<unknown>();
    const options = { concurrency: 1, leaseSeconds: 30, maxAttempts: 3, maxRunSeconds: 60, retryDelaySeconds: 1 };
    const worker = await backend.jobs.work('turns', options, async ({ data }) => done.resolve(data));
    expect(await done.promise).toEqual({ id: 'queued' });
    await worker.stop();
  });
});
