import { execFile } from 'node:child_process';
import { isDeepStrictEqual, promisify } from 'node:util';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

import { importCluster } from './test-servers.ts';
import { createEmptyDatabase, type TestDatabase } from '../../test/support/postgres/test-database.ts';

const MIGRATE = fileURLToPath(new URL('../../dist/migrate.js', import.meta.url));

/** The contents of a database, in numbers. */
const CONTENTS = `SELECT
  (SELECT array[count(*), count(parent_id), sum(size), sum(items_size), sum(length(body))] FROM antiphon.responses) AS responses,
  (SELECT array[count(*), count(DISTINCT session_id)] FROM antiphon.session_responses) AS sessions,
  (SELECT array[count(*), sum(position), sum(length(kind || item_key || body))] FROM antiphon.items) AS items`;

/** Databases on a PostgreSQL server of the benchmark, without fsync, so that queries are measured rather than the disk. */
export class Databases implements AsyncDisposable {
  private readonly serverUrl: string;
  private readonly stop: () => Promise<void>;
  private readonly databases: TestDatabase[] = [];

  private constructor(serverUrl: string, stop: () => Promise<void>) {
    this.serverUrl = serverUrl;
    this.stop = stop;
  }

  static async start(): Promise<Databases> {
    const { startCluster } = await importCluster();
    const cluster = await startCluster();
    return new Databases(cluster.url(), () => cluster.stop());
  }

  /** Creates a database with the service's schema; resolves with its URL. */
  async create(): Promise<string> {
    const database = await createEmptyDatabase(this.serverUrl);
    this.databases.push(database);
    const env = { PATH: process.env.PATH, DATABASE_URL: database.url };
    await promisify(execFile)(process.execPath, [MIGRATE], { cwd: tmpdir(), env });
    return database.url;
  }

  /** Runs ANALYZE, as autovacuum would within a minute, so that the planner has statistics. */
  async analyze(): Promise<void> {
    for (const database of this.databases) await database.query('ANALYZE');
  }

  /** Throws an Error if the contents of the databases differ, which means that the programs did different work. */
  async requireEqual(): Promise<void> {
    const contents = await Promise.all(this.databases.map((database) => database.query(CONTENTS)));
    if (contents.every((one) => isDeepStrictEqual(one, contents[0]))) return;
    throw new Error(`the databases differ: ${JSON.stringify(contents)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const database of this.databases) await database.drop();
    await this.stop();
  }
}
