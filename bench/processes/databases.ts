import { execFile } from 'node:child_process';
import { isDeepStrictEqual, promisify } from 'node:util';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

import { importCluster } from '../../test/support/postgres/global-setup.ts';
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres/test-database.ts';

const MIGRATE = fileURLToPath(new URL('../../dist/migrate.js', import.meta.url));

/** How much is in a database. */
const CONTENTS = `SELECT
  (SELECT array[count(*), count(parent_id), sum(size), sum(items_size), sum(length(body))] FROM antiphon.responses) AS responses,
  (SELECT array[count(*), count(DISTINCT session_id)] FROM antiphon.session_responses) AS sessions,
  (SELECT array[count(*), sum(position), sum(length(kind || item_key || body))] FROM antiphon.items) AS items`;

/** Databases on a PostgreSQL server of the benchmark's own. It waits for no disk: what is measured is what is asked of it. */
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

  /** Makes a database with the service's schema; gives its URL. */
  async create(): Promise<string> {
    const database = await createTestDatabase(this.serverUrl);
    this.databases.push(database);
    const env = { PATH: process.env.PATH, DATABASE_URL: database.url };
    await promisify(execFile)(process.execPath, [MIGRATE], { cwd: tmpdir(), env });
    return database.url;
  }

  /** Has the server count what is there, as it does by itself within a minute: from then on it plans with what it knows. */
  async analyze(): Promise<void> {
    for (const database of this.databases) await database.query('ANALYZE');
  }

  /** Throws unless there is as much in one database as in the other: else two programs did not do the same. */
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
