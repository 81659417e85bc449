import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';

import { startCluster } from './cluster.js';
import { createEmptyDatabase, createTestDatabase } from './test-database.js';

describe('the PostgreSQL server of the test run', () => {
  it('the PostgreSQL server of the test run is the version that production runs', async () => {
    await using database = await createTestDatabase();
    const [row] = await database.query('SHOW server_version_num');
    expect(row).toEqual({ server_version_num: expect.stringMatching(/^18\d{4}$/) });
  });

  it('the PostgreSQL server of the test run gives each test a database that no other sees', async () => {
    await using one = await createTestDatabase();
    await using other = await createTestDatabase();
    await one.query('CREATE TABLE notes (note text)');
    await one.query('INSERT INTO notes VALUES ($1)', ['kept']);
    expect(await one.query('SELECT note FROM notes')).toEqual([{ note: 'kept' }]);
    await expect(other.query('SELECT note FROM notes')).rejects.toThrow('relation "notes" does not exist');
  });
});

describe('a PostgreSQL server of its own', () => {
  it('a PostgreSQL server of a test keeps what was committed when it crashes, and comes back under the same URL', async () => {
    await using cluster = await startCluster();
    const database = await createEmptyDatabase(cluster.url());
    await database.query('CREATE TABLE notes (note text)');
    const open = new Client({ connectionString: database.url });
    await open.connect();
    const cut = new Promise<Error>((resolve) => open.on('error', resolve));
    await open.query('BEGIN');
    await open.query("INSERT INTO notes VALUES ('not committed')");
    await database.query("INSERT INTO notes VALUES ('committed')");

    await cluster.crash();
    await cut;
    await expect(database.query('SELECT note FROM notes')).rejects.toThrow('ECONNREFUSED');

    await cluster.resume();
    expect(await database.query('SELECT note FROM notes')).toEqual([{ note: 'committed' }]);
  });
});
