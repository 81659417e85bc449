import { registerHooks } from 'node:module';

import { createEmptyDatabase, type TestDatabase } from '../../test/support/postgres/test-database.ts';
import type * as clusters from '../../test/support/postgres/cluster.ts';
import type * as redisServers from '../../test/support/redis/redis-server.ts';

/** What starts a PostgreSQL for the tests. */
export function importCluster(): Promise<typeof clusters> {
  return importSupport(() => import('../../test/support/postgres/cluster.ts'));
}

/** What starts a Redis for the tests. */
export function importRedis(): Promise<typeof redisServers> {
  return importSupport(() => import('../../test/support/redis/redis-server.ts'));
}

/** Databases on a PostgreSQL of their own, without fsync, so that queries are measured rather than the disk. */
export class Databases implements AsyncDisposable {
  private readonly cluster: clusters.Cluster;
  private readonly databases: TestDatabase[] = [];

  private constructor(cluster: clusters.Cluster) {
    this.cluster = cluster;
  }

  static async start(): Promise<Databases> {
    return new Databases(await (await importCluster()).startCluster());
  }

  /** Creates a database, in which the service makes its schema; resolves with its URL. */
  async create(): Promise<string> {
    const database = await createEmptyDatabase(this.cluster.url());
    this.databases.push(database);
    return database.url;
  }

  /** Runs ANALYZE, as autovacuum would within a minute, so that the planner has statistics. */
  async analyze(): Promise<void> {
    for (const database of this.databases) await database.query('ANALYZE');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const database of this.databases) await database.drop();
    await this.cluster.stop();
  }
}

/** Files of the tests name what they import `.js`, as jest reads them; Node looks for the very file. */
async function importSupport<T>(load: () => Promise<T>): Promise<T> {
  const support = new URL('../../test/support/', import.meta.url).href;
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
