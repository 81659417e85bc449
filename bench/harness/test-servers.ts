import { execFile } from 'node:child_process';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { createDatabase, createTemplate, type TestDatabase } from '../../test/support/postgres/test-database.ts';
import type * as clusters from '../../test/support/postgres/cluster.ts';
import type * as redisServers from '../../test/support/redis/redis-server.ts';

const MIGRATE = fileURLToPath(new URL('../../dist/migrate.js', import.meta.url));

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
  private readonly serverUrl: string;
  private readonly stop: () => Promise<void>;
  private readonly databases: TestDatabase[] = [];
  private schema: Promise<void> | undefined;

  private constructor(serverUrl: string, stop: () => Promise<void>) {
    this.serverUrl = serverUrl;
    this.stop = stop;
  }

  static async start(): Promise<Databases> {
    const cluster = await (await importCluster()).startCluster();
    return new Databases(cluster.url(), () => cluster.stop());
  }

  /** Creates a database with the service's schema; resolves with its URL. */
  async create(): Promise<string> {
    this.schema ??= createTemplate(this.serverUrl, (url) => {
      const env = { PATH: process.env.PATH, DATABASE_URL: url };
      return promisify(execFile)(process.execPath, [MIGRATE], { cwd: tmpdir(), env });
    });
    await this.schema;
    const database = await createDatabase(this.serverUrl);
    this.databases.push(database);
    return database.url;
  }

  /** Runs ANALYZE, as autovacuum would within a minute, so that the planner has statistics. */
  async analyze(): Promise<void> {
    for (const database of this.databases) await database.query('ANALYZE');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const database of this.databases) await database.drop();
    await this.stop();
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
