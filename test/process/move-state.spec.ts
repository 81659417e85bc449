// Slow: starts the built service as processes.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from '@jest/globals';

import { HAS_REDIS } from '../support/redis/describe-redis.js';
import { removeKeys } from '../support/redis/remove-keys.js';
import { createTestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, startProcess } from '../support/process-service.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** How the states of the tests are removed. */
const removals: (() => Promise<void>)[] = [];

/** The variables of a service over a state of its own of some kind. */
async function stateOf(kind: 'sqlite' | 'postgres' | 'redis'): Promise<Readonly<Record<string, string>>> {
  if (kind === 'postgres') {
    const database = await createTestDatabase();
    removals.push(() => database.drop());
    return { STATE: 'postgres', DATABASE_URL: database.url };
  }
  if (kind === 'sqlite') {
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-move-'));
    removals.push(() => rm(directory, { recursive: true }));
    return { STATE: 'sqlite', STATE_DIR: directory };
  }
  const url = process.env['TEST_REDIS_URL'] ?? '';
  const prefix = `move-${randomUUID()}`;
  removals.push(() => removeKeys(url, `${prefix}:*`));
  return { STATE: 'redis', REDIS_URL: url, REDIS_PREFIX: prefix };
}

/** Runs the program with an input until it ends. */
async function run(
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
  input = '',
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: tmpdir(),
    env: { PATH: process.env.PATH, ...environment },
  });
  // It may end before it has read everything.
  child.stdin.on('error', () => undefined).end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number]>,
  ]);
  return { code, stdout, stderr };
}

afterEach(async () => {
  await endProcesses();
  for (const remove of removals.splice(0)) await remove();
});

describe('export and import', () => {
  it.each<readonly [name: string, kinds: readonly ('sqlite' | 'postgres' | 'redis')[]]>([
    ['a file to PostgreSQL, and on to another database', ['sqlite', 'postgres', 'postgres']],
    ...(HAS_REDIS ? ([['a file to Redis and back', ['sqlite', 'redis', 'sqlite']]] as const) : []),
  ])('export and import move what a service stores from %s', async (_, kinds) => {
    const [from = {}, ...others] = await Promise.all(kinds.map(stateOf));
    const service = await startProcess(from);
    const first = await service.client.post('{"model":"gpt-5","input":"Hello"}');
    service.kill('SIGTERM');
    await service.exited;
    let source = from;
    let exported = '';
    for (const target of others) {
      const { code, stdout, stderr } = await run(source, ['export']);
      expect({ code, said: stderr.replace(/^.*\[Sqlite\] vectors are compared by .*\n/, '') }).toEqual({
        code: 0,
        said: 'Exported: 1 tenant, 0 conversations, 1 response, 0 jobs.\n',
      });
      expect(JSON.parse(stdout.split('\n', 1)[0] ?? '')).toEqual({ format: 'antiphon-state', version: 1 });
      const imported = await run(target, ['import'], stdout);
      expect(imported).toMatchObject({ code: 0, stdout: '' });
      expect(imported.stderr).toContain('Imported: 1 tenant, 0 conversations, 1 response, 0 jobs.\n');
      source = target;
      exported = stdout;
    }
    const again = await run(source, ['import'], exported);
    expect(again.stderr).toContain('1 of them were there already and are unchanged.\n');
    const { id } = JSON.parse(first.text) as { readonly id: string };
    const next = await startProcess(source);
    const continued = await next.client.post(`{"model":"gpt-5","input":"More","previous_response_id":"${id}"}`);
    expect(continued.status).toBe(200);
  });

  it('an import that is not valid is refused in one sentence', async () => {
    const state = await stateOf('sqlite');
    const input = '{"format":"antiphon-state","version":1}\n{"kind":\n';
    const exit = await run({ ...state, LOG_LEVEL: 'error' }, ['import'], input);
    expect(exit).toEqual({ code: 1, stdout: '', stderr: 'Line 2 is not valid: expected a JSON object.\n' });
  });

  it('an export of a directory without a state is refused, and creates none', async () => {
    const { STATE_DIR = '' } = await stateOf('sqlite');
    const exit = await run({ STATE: 'sqlite', STATE_DIR: join(STATE_DIR, 'dta') }, ['export']);
    expect(exit).toEqual({
      code: 1,
      stdout: '',
      stderr: `STATE_DIR: there is no antiphon.sqlite in ${join(STATE_DIR, 'dta')}, so there is nothing to export.\n`,
    });
    expect(await readdir(STATE_DIR)).toEqual([]);
  });

  it('an export of a tenant that has stored nothing fails, and names it', async () => {
    const state = await stateOf('sqlite');
    await run(state, ['import'], '{"format":"antiphon-state","version":1}\n{"kind":"end"}\n');
    const exit = await run({ ...state, LOG_LEVEL: 'error' }, ['export', '--tenant', 'acmee']);
    expect(exit).toMatchObject({ code: 1, stderr: expect.stringMatching(/^The tenant 'acmee' has nothing here /) });
    expect(exit.stdout).not.toContain('"kind":"end"');
  });

  it.each([
    ['a response', 'row 1 of responses', "UPDATE responses SET body = 'xxxx'"],
    ['a job', 'row 1 of jobs', "INSERT INTO jobs VALUES (1, 'turns', 'broken', 'xxxx', 0)"],
  ])('an export of a file with damage in %s is refused in one sentence, which says where it is', async (...damage) => {
    const [, place, statement] = damage;
    const state = await stateOf('sqlite');
    const service = await startProcess(state);
    await service.client.post('{"model":"gpt-5","input":"Hello"}');
    service.kill('SIGTERM');
    await service.exited;
    const database = new DatabaseSync(join(state['STATE_DIR'] ?? '', 'antiphon.sqlite'));
    database.exec(statement);
    database.close();
    const exit = await run({ ...state, LOG_LEVEL: 'fatal' }, ['export']);
    const said = new RegExp(`^${place}: .* is damaged: .*\n$`);
    expect(exit).toMatchObject({ code: 1, stderr: expect.stringMatching(said) });
    expect(exit.stdout).not.toContain('"kind":"end"');
  });

  it.each([['export'], ['import']])('%s is refused with STATE=memory', async (command) => {
    const exit = await run({ STATE: 'memory' }, [command]);
    expect(exit).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^STATE: memory ends with its process, /),
    });
  });

  it('export and import are refused in one sentence when the database is away', async () => {
    const exit = await run({ STATE: 'postgres', DATABASE_URL: 'postgres://127.0.0.1:1/none', LOG_LEVEL: 'fatal' }, [
      'export',
    ]);
    expect(exit).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^STATE: postgres is not available; the log .*\n$/),
    });
  });
});
