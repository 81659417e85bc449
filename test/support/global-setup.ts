import { registerHooks } from 'node:module';

import type * as clusters from './postgres/cluster.js';
import type * as redisClusters from './redis/redis-cluster.js';
import type * as redisServers from './redis/redis-server.js';

declare global {
  /** The servers of this test run, for its teardown. */
  var testCluster: clusters.Cluster | undefined;
  var testRedis: redisServers.RedisServer | undefined;
  var testRedisCluster: redisClusters.RedisCluster | undefined;
}

/**
 * Starts one PostgreSQL server for the whole test run, and one Redis and one cluster of them if this machine has Redis.
 * Specs find their URLs in TEST_POSTGRES_URL, TEST_REDIS_URL and TEST_REDIS_CLUSTER_URL.
 */
export default async function startServers(): Promise<void> {
  await Promise.all([startPostgres(), startRedisServers()]);
}

async function startPostgres(): Promise<void> {
  const { startCluster } = await importCluster();
  globalThis.testCluster = await startCluster();
  process.env['TEST_POSTGRES_URL'] = globalThis.testCluster.url();
}

async function startRedisServers(): Promise<void> {
  const { findRedis, startRedis } = await importRedis();
  if (findRedis() === undefined) return;
  const { startRedisCluster } = await importSupport(() => import('./redis/redis-cluster.js'));
  const [single, cluster] = await Promise.all([startRedis(), startRedisCluster()]);
  globalThis.testRedis = single;
  globalThis.testRedisCluster = cluster;
  process.env['TEST_REDIS_URL'] = single.url;
  process.env['TEST_REDIS_CLUSTER_URL'] = cluster.url;
}

/** Jest has Node load this file and what it imports, and Node looks for the very `.js` that an import names. */
export function importCluster(): Promise<typeof clusters> {
  return importSupport(() => import('./postgres/cluster.js'));
}

/** The same for what starts a Redis. */
export function importRedis(): Promise<typeof redisServers> {
  return importSupport(() => import('./redis/redis-server.js'));
}

async function importSupport<T>(load: () => Promise<T>): Promise<T> {
  const support = new URL('./', import.meta.url).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const isOurs = context.parentURL?.startsWith(support) === true && specifier.startsWith('.');
      return next(isOurs ? specifier.replace(/\.js$/, '.ts') : specifier, context);
    },
  });
  try {
    return await load();
  } finally {
    hooks.deregister();
  }
}
