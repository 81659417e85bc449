import { registerHooks } from 'node:module';

import type * as redisServers from '../redis/redis-server.js';
import type * as clusters from './cluster.js';

declare global {
  /** The server of this test run, for its teardown. */
  var testCluster: clusters.Cluster | undefined;
  var testRedis: redisServers.RedisServer | undefined;
}

/** Starts one PostgreSQL server for the whole test run. Specs find its URL in TEST_POSTGRES_URL. */
export default async function startTestCluster(): Promise<void> {
  const { startCluster } = await importCluster();
  globalThis.testCluster = await startCluster();
  process.env['TEST_POSTGRES_URL'] = globalThis.testCluster.url();
  const { startRedis } = await importRedis();
  globalThis.testRedis = await startRedis();
  process.env['TEST_REDIS_URL'] = globalThis.testRedis.url;
}

/** Jest has Node load this file and what it imports, and Node looks for the very `.js` that an import names. */
export function importCluster(): Promise<typeof clusters> {
  return importSupport(() => import('./cluster.js'));
}

/** The same for the Redis server. */
export function importRedis(): Promise<typeof redisServers> {
  return importSupport(() => import('../redis/redis-server.js'));
}

async function importSupport<T>(load: () => Promise<T>): Promise<T> {
  const support = new URL('../', import.meta.url).href;
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
