import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { importRedis } from './test-servers.ts';
import { Databases } from './databases.ts';

/** A value of STATE. */
export type State = 'memory' | 'sqlite' | 'postgres' | 'redis';

/** A backend, and the variables that make a service use it. */
export interface Backend {
  readonly state: State;
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * The backends side by side, empty, with their servers. PostgreSQL does not wait for the disk and Redis writes nothing to it, so that the
 * service is measured; SQLite writes as it does in production.
 */
export class Backends implements AsyncDisposable {
  /** Those of this machine: Redis is left out, with a line on stderr, where it is not installed. */
  readonly all: readonly Backend[];
  private readonly databases: Databases;
  private readonly resources: AsyncDisposableStack;

  private constructor(all: readonly Backend[], databases: Databases, resources: AsyncDisposableStack) {
    this.all = all;
    this.databases = databases;
    this.resources = resources;
  }

  static async start(): Promise<Backends> {
    await using resources = new AsyncDisposableStack();
    const databases = resources.use(await Databases.start());
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
    resources.defer(() => rm(directory, { recursive: true }));
    const redis = await startRedis();
    if (redis !== null) resources.use(redis);
    const all: readonly Backend[] = [
      { state: 'memory', environment: { STATE: 'memory' } },
      { state: 'sqlite', environment: { STATE: 'sqlite', STATE_DIR: directory } },
      { state: 'postgres', environment: { STATE: 'postgres', DATABASE_URL: await databases.create() } },
      ...(redis === null ? [] : [{ state: 'redis', environment: { STATE: 'redis', REDIS_URL: redis.url } } as const]),
    ];
    return new Backends(all, databases, resources.move());
  }

  /** Runs ANALYZE in PostgreSQL, as autovacuum would within a minute. */
  async analyze(): Promise<void> {
    await this.databases.analyze();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources.disposeAsync();
  }
}

/** Null where there is no server. */
async function startRedis() {
  try {
    return await (await importRedis()).startRedis();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    process.stderr.write('SKIPPED: nothing is measured with Redis, since there is no redis-server on PATH\n');
    return null;
  }
}
