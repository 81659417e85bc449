// Slow: starts the built service as several processes, and ends them.

import { afterEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';

import { freePort } from '../support/ports.js';
import { itWith } from '../support/tests-with-programs.js';
import { pause } from '../support/pause.js';
import { startPooler } from './pgbouncer.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, type Exit, type Program, runToEnd, startProcess } from '../support/process-service.js';

type Variables = Readonly<Record<string, string>>;

afterEach(endProcesses);

/** One sentence for the operator, and nothing that must not be shown. */
function expectRefusal({ code, signal, stdout, stderr }: Exit, line: RegExp): void {
  expect({ code, signal }).toEqual({ code: 1, signal: null });
  expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(line)]);
  expect(stdout).not.toContain('listens on');
}

function expectNoSecret({ stdout, stderr }: Exit, url: string): void {
  const { password } = new URL(url);
  for (const secret of [password, decodeURIComponent(password)]) expect(stdout + stderr).not.toContain(secret);
}

function run(program: Program, DATABASE_URL: string, variables: Variables = {}): Promise<Exit> {
  return runToEnd({ STATE: 'postgres', DATABASE_URL, PORT: '0', ...variables }, program);
}

/** The URL of a database with something else in it. */
function changed({ url }: TestDatabase, members: Partial<Pick<URL, 'password' | 'pathname' | 'port'>>): string {
  return Object.assign(new URL(url), members).href;
}

/** Resolves when so many connections wait for what another one does. */
async function waiting(database: TestDatabase, count: number): Promise<void> {
  const waiters = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  while ((await database.query(waiters)).length < count) await pause();
}

describe.each<Program>(['main.js', 'migrate.js'])('%s with a database that cannot be used', (program) => {
  it('a start says in one line that the password is wrong', async () => {
    await using database = await createEmptyDatabase();
    const url = changed(database, { password: 'secret-1f2e' });
    const exit = await run(program, url);
    expectRefusal(exit, /^DATABASE_URL: .*password authentication failed/);
    expectNoSecret(exit, url);
  });

  it('a start says in one line that there is no such database', async () => {
    await using database = await createEmptyDatabase();
    const url = changed(database, { pathname: '/nowhere' });
    const exit = await run(program, url);
    expectRefusal(exit, /^DATABASE_URL: .*database "nowhere" does not exist/);
    expectNoSecret(exit, url);
  });

  it('a start says in one line that the URL is none, without showing it', async () => {
    const exit = await run(program, 'http://user:secret-3d4c@db/x');
    expectRefusal(exit, /^DATABASE_URL: expected postgres:\/\/user:password@host\/database/);
    expectNoSecret(exit, 'http://user:secret-3d4c@db/x');
  });
});

describe('a start that cannot be', () => {
  it('a start says that the schema is missing and may not be made', async () => {
    await using database = await createEmptyDatabase();
    const exit = await run('main.js', database.url, { DATABASE_MIGRATE: 'false' });
    expectRefusal(exit, /^DATABASE_MIGRATE: .*needs \d+ migrations.*npm run migrate/);
    expectNoSecret(exit, database.url);
    expect(await database.query("SELECT FROM pg_namespace WHERE nspname = 'antiphon'")).toEqual([]);
  });

  it.each<[Variables, RegExp]>([
    [{ STATE: 'SQLite' }, /^STATE: expected memory, sqlite, postgres, redis, or the name .*, but got 'SQLite'/],
    [{ STATE: 'oracle' }, /^STATE: expected one of memory, sqlite, postgres, redis, but got 'oracle'/],
    [{ WORKERS: '2' }, /^WORKERS: .*STATE=postgres.*previous_response_id would fail/],
  ])('a start says why %j is refused', async (variables, line) => {
    expectRefusal(await runToEnd({ PORT: '0', ...variables }), line);
  });
});

describe('migrate.js', () => {
  it('migrate.js applies what is missing and says so, and the next time that nothing is', async () => {
    await using database = await createEmptyDatabase();
    const first = await run('migrate.js', database.url);
    expect(first).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^Applied:\n(?: {2}\d{4}_\S+\n)+ {2}antiphon_jobs_\d+\n$/),
    });
    const names = first.stdout
      .split('\n')
      .slice(1, -2)
      .map((line) => line.trim());
    expect(await database.query('SELECT name FROM antiphon.migrations ORDER BY name')).toEqual(
      names.map((name) => ({ name })),
    );
    const second = await run('migrate.js', database.url);
    expect(second).toMatchObject({ code: 0, stderr: '', stdout: 'The schema is up to date.\n' });
    const service = await startProcess({ STATE: 'postgres', DATABASE_URL: database.url, DATABASE_MIGRATE: 'false' });
    expect(await service.client.send({ path: '/readyz' })).toMatchObject({ status: 200 });
  });

  it('migrate.js says in one line that the database is not there', async () => {
    await using database = await createEmptyDatabase();
    const url = changed(database, { port: '1' });
    const exit = await run('migrate.js', url);
    expectRefusal(exit, /ECONNREFUSED/);
    expectNoSecret(exit, url);
  });
});

describe('processes that start at once on an empty database', () => {
  it('processes that start at once on an empty database all come up, and one of them makes the schema', async () => {
    await using database = await createEmptyDatabase();
    const environment = { STATE: 'postgres', DATABASE_URL: database.url };
    const blocker = new Client({ connectionString: database.url });
    await blocker.connect();
    await blocker.query('BEGIN');
    await blocker.query('CREATE SCHEMA antiphon');
    const starting = Promise.all(Array.from({ length: 2 }, () => startProcess(environment)));
    // None gets any further until all are there.
    await Promise.race([waiting(database, 2), starting]);
    await blocker.query('ROLLBACK');
    await blocker.end();

    const processes = await starting;
    for (const { client } of processes) expect(await client.send({ path: '/readyz' })).toMatchObject({ status: 200 });
    const [one, other] = processes;
    const answer = await one?.client.post('{"model":"gpt-4.1","input":"Hi"}');
    const { id } = JSON.parse(answer?.text ?? '') as { readonly id: string };
    expect(await other?.client.send({ path: `/v1/responses/${id}` })).toMatchObject({ status: 200 });

    for (const { kill } of processes) kill('SIGTERM');
    const exits = await Promise.all(processes.map(({ exited }) => exited));
    expect(exits.map(({ code }) => code)).toEqual([0, 0]);
    expect(exits.filter(({ stdout }) => /applied \d+ migrations/.test(stdout))).toHaveLength(1);
    for (const { stderr } of exits) expect(stderr).not.toContain('ERROR');
  });
});

describe.each([
  ['PostgreSQL', { STATE: 'postgres', DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:' }, '/none'],
  ['Redis', { STATE: 'redis', REDIS_URL: 'redis://127.0.0.1:' }, ''],
])('a start while %s is away', (_name, { STATE, ...url }, path) => {
  it.each([1, 2])(
    'a start while the state is away says that the service waits for it, with WORKERS=%d',
    async (WORKERS) => {
      const port = await freePort();
      const [[variable, value]] = Object.entries(url) as [[string, string]];
      const { written, client } = await startProcess({
        STATE,
        [variable]: `${value}${port}${path}`,
        WORKERS: String(WORKERS),
      });
      await written(/State: .*It cannot be reached yet: requests that need it are refused until it can\n/);
      expect((await client.send({ path: '/readyz' })).status).toBe(503);
    },
  );
});

itWith(
  'pgbouncer',
  'a start through a pooler without DATABASE_DIRECT_URL says which variable is missing',
  async (program) => {
    await using database = await createEmptyDatabase();
    await using pooler = await startPooler(program, database.url);
    expectRefusal(
      await run('main.js', pooler.url),
      /^DATABASE_URL: leads to a pooler\. Set DATABASE_DIRECT_URL to the database itself\.$/,
    );
  },
);
