import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import { explainFailure, explainStart } from '../../src/state/sqlite/errors.js';
import { FILE_NAME } from '../../src/state/sqlite/open-database.js';
import { APPLICATION_ID, MIGRATIONS } from '../../src/state/sqlite/schema.js';
import { append, contextFrom, contextOf, newTenant, START } from '../../src/testing/state/records.js';
import { ServiceLog } from '../support/service-log.js';
import { sqliteIn } from './sqlite-fixture.js';

/** Holds the database of its argument, as a service does. */
const HOLDER = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(process.argv[1]);
  database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  console.log('held');
  setInterval(() => {}, 60_000);
`;

/** The user that may do nothing; root may write everywhere. */
const NOBODY = 65_534;

describe('the start of a state in SQLite', () => {
  let directory: string;
  let file: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
    file = join(directory, FILE_NAME);
  });
  afterEach(async () => {
    await chmod(directory, 0o700);
    await rm(directory, { recursive: true });
  });

  /** Why it did not start; it stops if it did. */
  async function refusal(place = directory): Promise<string> {
    const backend = sqliteIn(place);
    try {
      await backend.start();
    } catch (error) {
      return String(error);
    }
    await backend.stop();
    return 'it started';
  }

  /** Changes the file as another program does. */
  function change(statements: string): void {
    const database = new DatabaseSync(file);
    database.exec(statements);
    database.close();
  }

  /** Keeps some responses in the file, and closes it. */
  async function fill(): Promise<void> {
    const backend = sqliteIn(directory);
    await backend.start();
    const tenant = newTenant();
    // At once: the disk is asked to keep each transaction.
    await Promise.all(Array.from({ length: 100 }, (_, index) => append(backend.responses, tenant, `r${index}`)));
    await backend.stop();
  }

  /** Leaves the file as a process does that is killed: the latest responses are in the log beside it. */
  async function crash(): Promise<void> {
    await fill();
    const backend = sqliteIn(directory);
    await backend.start();
    await append(backend.responses, newTenant(), 'latest');
    const left = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
    await cp(directory, left, { recursive: true });
    await backend.stop();
    await cp(left, directory, { recursive: true });
    await rm(left, { recursive: true });
  }

  it('the start with SQLite makes its directory and its files for its user alone, and has nothing to warn of', async () => {
    const place = join(directory, 'one', 'two');
    const backend = sqliteIn(place);
    using log = ServiceLog.begin();
    await backend.start();
    for (let count = 0; count < 100; count += 1) await append(backend.responses, newTenant(), 'r');
    const names = await readdir(place);
    const modes = await Promise.all(['', ...names].map(async (name) => (await stat(join(place, name))).mode & 0o777));
    expect(names.sort()).toEqual([FILE_NAME, `${FILE_NAME}-reserve`, `${FILE_NAME}-wal`]);
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);
    await backend.stop();
    expect(log.complaints).toEqual([]);
  });

  it.each([
    ['directory', () => chmod(directory, 0o755)],
    ['file', () => chmod(file, 0o640)],
  ])('the start with SQLite warns of a %s that others may read, and says how to change that', async (_what, share) => {
    await fill();
    await share();
    using log = ServiceLog.begin();
    expect(await refusal()).toBe('it started');
    expect(log.complaints).toEqual([
      `STATE_DIR (${directory}) is open to other users: chmod 700 ${directory} and chmod 600 ${file}* Sqlite`,
    ]);
  });

  it('the start with SQLite is refused while another process has the file, and not once that is killed', async () => {
    const holder = spawn(process.execPath, ['-e', HOLDER, file], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(holder.stdout, 'data');
    expect(await refusal()).toBe(
      `StateStartError: Another process uses the state in STATE_DIR (${directory}): stop it, or give each process a STATE_DIR (--state-dir) of its own.`,
    );
    const exited = once(holder, 'exit');
    holder.kill('SIGKILL');
    await exited;
    expect(await refusal()).toBe('it started');
  });

  it('the start with SQLite is refused while another backend of the process has the file, which keeps what it has', async () => {
    const first = sqliteIn(directory);
    await first.start();
    const tenant = newTenant();
    await append(first.responses, tenant, 'a');
    expect(await refusal()).toContain('Another process uses the state');
    await append(first.responses, tenant, 'b', { parentId: 'a' });
    expect(await contextOf(first.responses, tenant, 'b')).toEqual(contextFrom('a', 'b'));
    await first.stop();
  });

  it.each(MIGRATIONS.map((_, version) => version).slice(1))(
    'the start with SQLite brings a file of version %i up to date',
    async (version) => {
      const mark = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version}`;
      const old = `INSERT INTO tenants (key, name) VALUES ('old', '"old"')`;
      change(`BEGIN; ${MIGRATIONS.slice(0, version).join('')}; ${old}; ${mark}; COMMIT`);
      const backend = sqliteIn(directory);
      await backend.start();
      const tenant = asTenant('old');
      for (const id of ['a', 'b']) await append(backend.responses, tenant, id);
      await backend.responses.delete(tenant, 'a', { cascade: false });
      const { data } = await backend.graph.list(tenant, {}, { limit: 10, order: 'asc', after: 'a' });
      expect(data.map(({ id }) => id)).toEqual(['b']);
      expect(await backend.claims.claim(tenant, 'approval', 'a', START + 1)).toBe('a');
      expect(await backend.claims.claim(tenant, 'approval', 'b', START + 1)).toBe('a');
      await backend.stop();
    },
  );

  it('the start with SQLite is refused by a file of a later version, which stays as it is', async () => {
    await fill();
    change('PRAGMA user_version = 99');
    const before = await readFile(file);
    expect(await refusal()).toContain(
      `The state in STATE_DIR (${directory}) was written by a later version of Antiphon`,
    );
    expect(await readFile(file)).toEqual(before);
  });

  it.each([
    ['has tables', 'CREATE TABLE notes (text); INSERT INTO notes VALUES (1)'],
    ['has a table with the name of one of ours', 'CREATE TABLE responses (text)'],
    ['has a version of its own', 'PRAGMA user_version = 1'],
    ['has a mark of its own', 'PRAGMA application_id = 7'],
    ['has a log beside it', 'PRAGMA journal_mode = WAL; CREATE TABLE notes (text)'],
  ])(
    'the start with SQLite is refused by a file of another program that %s, which stays as it is',
    async (_what, statements) => {
      change(statements);
      const before = await readFile(file);
      expect(await refusal()).toBe(
        `StateStartError: The database in STATE_DIR (${directory}) is not a state of Antiphon: move it elsewhere, or set another STATE_DIR (--state-dir).`,
      );
      expect(await readFile(file)).toEqual(before);
      expect(await readdir(directory)).toEqual([FILE_NAME]);
    },
  );

  it('the start with SQLite knows its file after a crash of its first start', async () => {
    const backend = sqliteIn(directory);
    await backend.start();
    const left = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
    await cp(directory, left, { recursive: true });
    await backend.stop();
    expect(await refusal(left)).toBe('it started');
    await rm(left, { recursive: true });
  });

  it('the start with SQLite is refused where no directory can be made', async () => {
    for (const place of ['/proc/antiphon', '/proc/antiphon/below']) {
      expect(await refusal(place)).toContain(`The state in STATE_DIR (${place}) cannot be written`);
    }
  });

  it.each([
    ['is no database', 'file is not a database', () => writeFile(file, 'something else '.repeat(1000))],
    [
      'was cut off',
      'database disk image is malformed',
      async () => fill().then(async () => truncate(file, (await stat(file)).size / 2)),
    ],
    ['was overwritten in part', 'database disk image is malformed', async () => fill().then(scribble)],
    ['was overwritten in part before a crash', 'database disk image is malformed', async () => crash().then(scribble)],
    [
      'is gone while the log beside it is there',
      'antiphon.sqlite is missing or empty, and its log is not',
      async () => crash().then(() => rm(file)),
    ],
  ])('the start with SQLite is refused by a file that %s, with what was found', async (_state, found, damage) => {
    await damage();
    const isThere = existsSync(file);
    const [, reason] = /The state in STATE_DIR .* is damaged \((.*)\): its files are kept/.exec(await refusal()) ?? [];
    expect(reason).toMatch(found);
    expect(existsSync(file)).toBe(isThere);
  });

  it('the start with SQLite is refused by a directory in the place of its file', async () => {
    await mkdir(file);
    expect(await refusal()).toContain(`The database in STATE_DIR (${directory}) is not a state of Antiphon: move it`);
  });

  it('the start with SQLite is refused where a file is in the way', async () => {
    await writeFile(join(directory, 'file'), '');
    for (const place of ['file', 'file/below']) {
      const way = join(directory, place);
      expect(await refusal(way)).toContain(`STATE_DIR (${way}) cannot be created, a file is in its way`);
    }
  });

  it.each([
    ['file', async () => fill().then(() => chmod(file, 0o444))],
    ['directory', () => chmod(directory, 0o555)],
    ['directory above', () => chmod(directory, 0o555)],
  ])('the start with SQLite is refused by a %s that it may not write', async (what, protect) => {
    await protect();
    if (what === 'file') await chmod(directory, 0o777);
    const place = what === 'directory above' ? join(directory, 'below') : directory;
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(NOBODY);
    try {
      expect(await refusal(place)).toContain(`The state in STATE_DIR (${place}) cannot be written`);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  it.each([{ code: 'EROFS' }, { code: 'ENOENT' }])(
    'the start with SQLite is refused by a file system that can only be read: %j',
    (error) => {
      expect(explainStart(error, './data')).toContain('The state in STATE_DIR (./data) cannot be written');
    },
  );

  it.each([{ errcode: 13 }, { code: 'ENOSPC' }])('the start with SQLite is refused on a full disk: %j', (error) => {
    expect(explainStart(error, './data')).toBe(
      'The disk of STATE_DIR (./data) is full: make room, or set a STATE_DIR (--state-dir) on another disk.',
    );
  });

  it.each([{ errcode: 11 }, { errcode: 267 }, { errcode: 26 }])(
    'the state in SQLite explains damage that is met later: %j',
    (error) => {
      expect(explainFailure(error, './data')).toContain('The state in STATE_DIR (./data) is damaged');
    },
  );

  it('the start with SQLite is refused by what nobody expects with its reason', () => {
    expect(explainStart(new Error('disk I/O error'), './data')).toContain('cannot be opened (disk I/O error)');
  });

  /** Overwrites what is in the middle of the file. */
  async function scribble(): Promise<void> {
    const handle = await open(file, 'r+');
    const { size } = await handle.stat();
    for (let page = 4; page * 4096 < size; page += 1) await handle.write(Buffer.alloc(4096, 'x'), 0, 4096, page * 4096);
    await handle.close();
  }
});
