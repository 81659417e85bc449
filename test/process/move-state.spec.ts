// Slow: starts the built service as processes.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from '@jest/globals';

import { HAS_REDIS } from '../support/redis/describe-redis.js';
import { removeKeys } from '../support/redis/remove-keys.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, startProcess } from '../support/process-service.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

const databases: TestDatabase[] = [];

/** The variables of a service over a database of its own. */
async function newState(): Promise<Readonly<Record<string, string>>> {
  const database = await createTestDatabase();
  databases.push(database);
  return { STATE: 'postgres', DATABASE_URL: database.url };
}

/** How the states of the tests are removed. */
const removals: (() => Promise<void>)[] = [];

/** The variables of a service over a state of its own of some kind. */
async function stateOf(kind: 'sqlite' | 'postgres' | 'redis'): Promise<Readonly<Record<string, string>>> {
  if (kind === 'postgres') return newState();
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
  await Promise.all(databases.splice(0).map((database) => database.drop()));
});

describe('export and import', () => {
  it('export and import move what a service stores to another database', async () => {
    const from = await newState();
    const service = await startProcess(from);
    const first = await service.client.post('{"model":"gpt-5","input":"Hello"}');
    service.kill('SIGTERM');
    await service.exited;
    const exported = await run(from, ['export']);
    expect(exported).toMatchObject({ code: 0, stderr: 'Exported: 1 tenant, 0 conversations, 1 response, 0 jobs.\n' });
    const lines = exported.stdout.trimEnd().split('\n');
    expect(JSON.parse(lines[0] ?? '')).toEqual({ format: 'antiphon-state', version: 1 });
    const to = await newState();
    const imported = await run(to, ['import'], exported.stdout);
    expect(imported).toMatchObject({ code: 0, stdout: '' });
    expect(imported.stderr).toContain('Imported: 1 tenant, 0 conversations, 1 response, 0 jobs.\n');
    const again = await run(to, ['import'], exported.stdout);
    expect(again.stderr).toContain('1 of them were there already and are unchanged.\n');
    const { id } = JSON.parse(first.text) as { readonly id: string };
    const next = await startProcess(to);
    const continued = await next.client.post(`{"model":"gpt-5","input":"More","previous_response_id":"${id}"}`);
    expect(continued.status).toBe(200);
  });

  it.each<readonly [name: string, kinds: readonly ('sqlite' | 'postgres' | 'redis')[]]>([
    ['a file to PostgreSQL', ['sqlite', 'postgres']],
    ...(HAS_REDIS ? ([['a file to Redis and back', ['sqlite', 'redis', 'sqlite']]] as const) : []),
  ])('export and import move what a service stores from %s', async (_, kinds) => {
    const [from, ...others] = await Promise.all(kinds.map(stateOf));
    const service = await startProcess(from ?? {});
    const first = await service.client.post('{"model":"gpt-5","input":"Hello"}');
    service.kill('SIGTERM');
    await service.exited;
    const { id } = JSON.parse(first.text) as { readonly id: string };
    let source = from ?? {};
    for (const target of others) {
      const exported = await run(source, ['export']);
      expect(exported.stderr).toContain('Exported: 1 tenant, 0 conversations, 1 response, 0 jobs.\n');
      const imported = await run(target, ['import'], exported.stdout);
      expect(imported.stderr).toContain('Imported: 1 tenant, 0 conversations, 1 response, 0 jobs.\n');
      source = target;
    }
    const next = await startProcess(source);
    const continued = await next.client.post(`{"model":"gpt-5","input":"More","previous_response_id":"${id}"}`);
    expect(continued.status).toBe(200);
  });

  it.each<readonly [fault: string, input: string, line: RegExp]>([
    ['nothing', '', /^There is nothing to import: expected the output of antiphon export\.\n$/],
    ['another format', 'id,name\n', /^Line 1 does not say that this is an export: /],
    [
      'a newer version',
      '{"format":"antiphon-state","version":2}\n',
      /^The export has version 2 of the format, .* up to 1: /,
    ],
    [
      'broken JSON',
      '{"format":"antiphon-state","version":1}\n{"kind":\n',
      /^Line 2 is not valid: expected a JSON object\.\n$/,
    ],
    [
      'an unknown kind',
      '{"format":"antiphon-state","version":1}\n{"kind":"x"}\n',
      /^Line 2 is not valid: expected kind to be one of secret, /,
    ],
    [
      'a wrong member',
      '{"format":"antiphon-state","version":1}\n{"kind":"tenant","tenant":7}\n',
      /^Line 2 is not valid: tenant: expected tenant to be string, but got number\.\n$/,
    ],
    [
      'a wrong member of a list',
      '{"format":"antiphon-state","version":1}\n{"kind":"tenant","tenant":"t"}\n{"kind":"entries","conversationId":"c","version":1,"entries":[{"position":0,"isGiven":false,"item":{}}]}\n',
      /^Line 3 is not valid: entries: expected entries\[0\]\.item\.id to be string, but got nothing\.\n$/,
    ],
    [
      'a record without a tenant',
      '{"format":"antiphon-state","version":1}\n{"kind":"entries","conversationId":"c","version":1,"entries":[]}\n',
      /^Line 2 is not valid: no line before it names a tenant\.\n$/,
    ],
    ['no end', '{"format":"antiphon-state","version":1}\n', /^The export is not whole: it ends with line 1\. /],
    [
      'more than the end',
      '{"format":"antiphon-state","version":1}\n{"kind":"end"}\n{"kind":"end"}\n',
      /^Line 3 follows the end/,
    ],
  ])('an import of %s is refused in one sentence', async (_, input, line) => {
    const state = await newState();
    const exit = await run({ ...state, LOG_LEVEL: 'error' }, ['import'], input);
    expect(exit).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(line) });
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
