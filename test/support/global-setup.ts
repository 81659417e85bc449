import { Environment } from '../../src/config/index.js';
import { migrate } from '../../src/state/postgres/migrate.js';
import { type Cluster, startCluster } from './postgres/cluster.js';
import { createTemplate } from './postgres/test-database.js';
import { type RedisCluster, startRedisCluster } from './redis/redis-cluster.js';
import { findRedis, type RedisServer, startRedis } from './redis/redis-server.js';

declare global {
  /** The servers of this test run, for its teardown. */
  var testCluster: Cluster | undefined;
  var testRedis: RedisServer | undefined;
  var testRedisCluster: RedisCluster | undefined;
}

/**
 * Starts one PostgreSQL server for the whole test run, and one Redis and one cluster of them if this machine has Redis.
 * Specs find their URLs in TEST_POSTGRES_URL, TEST_REDIS_URL and TEST_REDIS_CLUSTER_URL.
 */
export default async function startServers(): Promise<void> {
  await Promise.all([startPostgres(), startRedisServers()]);
}

/** The schema is made once: the databases of the tests are copies of one that has it. */
async function startPostgres(): Promise<void> {
  globalThis.testCluster = await startCluster();
  process.env['TEST_POSTGRES_URL'] = globalThis.testCluster.url();
  process.env['TEST_POSTGRES_HOME'] = globalThis.testCluster.home;
  await createTemplate(globalThis.testCluster.url(), (url) =>
    migrate(Object.assign(new Environment(), { DATABASE_URL: url })),
  );
}

async function startRedisServers(): Promise<void> {
  if (findRedis() === undefined) return;
  const [single, cluster] = await Promise.all([startRedis(), startRedisCluster()]);
  globalThis.testRedis = single;
  globalThis.testRedisCluster = cluster;
  process.env['TEST_REDIS_URL'] = single.url;
  process.env['TEST_REDIS_CLUSTER_URL'] = cluster.url;
}
