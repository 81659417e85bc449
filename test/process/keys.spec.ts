// Slow: runs the built program.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { bearer, sha256 } from '../access/keys.js';
import { ApiClient } from '../support/api-client.js';
import { pause } from '../support/pause.js';
import { endProcesses, type Exit, runToEnd } from '../support/process-service.js';
import { startService } from '../support/service.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const CHECK_MS = 2000;
const OF_THE_OPERATOR = `# Ask the platform team.
keys:
  # of the operator
  - id: operator
    tenant: operations
    secrets:
      - sha256: ${sha256('key-of-the-operator')}
    scopes: [ admin ]
`;

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antiphon-keys-'));
  file = join(folder, 'keys.yaml');
});

afterEach(async () => {
  await endProcesses();
  await rm(folder, { recursive: true });
});

/** `antiphon keys` with these arguments. */
function keys(...args: readonly string[]): Promise<Exit> {
  return runToEnd({ KEYS_FILE: file }, 'main.js', ['keys', ...args]);
}

describe('antiphon keys', () => {
  it('antiphon keys makes a key that a running service takes, and revokes it there, too', async () => {
    await writeFile(file, OF_THE_OPERATOR, { mode: 0o640 });
    const clock = new FakeClock();
    const environment = { KEYS_FILE: file };
    const service = await startService({ environment, providers: [ScriptedProvider], overrides: [[Clock, clock]] });
    try {
      const made = await keys('create', 'ci', '--tenant', 'red', '--scopes', 'responses:read', '--models', 'gpt-*');
      expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining("tenant 'red' is shown only now") });
      const key = made.stdout.trim();
      expect(key).toMatch(/^sk-[\w-]{43}$/);
      const client = new ApiClient(service.baseURL, bearer(key));
      const untilStatus = async (status: number): Promise<void> => {
        clock.advance(CHECK_MS);
        while ((await client.get('responses/resp_1')).status !== status) await pause();
      };
      await untilStatus(404);
      expect((await client.post('responses', { model: 'gpt-5', input: 'Hi' })).body).toMatchObject({
        error: { code: 'missing_scope' },
      });

      const content = await readFile(file, 'utf8');
      expect(content).toBe(`${OF_THE_OPERATOR}  - id: ci
    tenant: red
    secrets:
      - sha256: ${sha256(key)}
    scopes:
      - responses:read
    models:
      - gpt-*
`);
      expect((await stat(file)).mode & 0o777).toBe(0o640);
      expect((await keys('list')).stdout.split('\n')).toEqual([
        expect.stringMatching(/^ID +TENANT +SCOPES +MODELS +EXPIRES +SHA-256$/),
        expect.stringMatching(/^operator +operations +admin +all +never +[0-9a-f]{8}…$/),
        expect.stringMatching(/^ci +red +responses:read +gpt-\* +never +[0-9a-f]{8}…$/),
        '',
      ]);

      expect(await keys('revoke', 'ci')).toMatchObject({ code: 0, stdout: '' });
      await untilStatus(401);
      expect(await readFile(file, 'utf8')).toBe(OF_THE_OPERATOR);
      expect(await readdir(folder)).toEqual(['keys.yaml']);
    } finally {
      await service.close();
    }
  });

  it('antiphon keys makes the file, for its owner alone', async () => {
    const json = join(folder, 'keys.json');
    const { stdout } = await keys(
      'create',
      'ci',
      '--tenant',
      'red',
      '--expires',
      '2999-01-31T00:00:00Z',
      '--file',
      json,
    );
    expect((await stat(json)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(json, 'utf8'))).toEqual({
      keys: [
        { id: 'ci', tenant: 'red', secrets: [{ sha256: sha256(stdout.trim()) }], expires: '2999-01-31T00:00:00Z' },
      ],
    });
  });

  it.each<readonly [what: string, args: readonly string[], code: number, message: RegExp]>([
    ['an id that is there', ['create', 'operator', '--tenant', 'red'], 1, /has a key 'operator' already/],
    ['an id that is not there', ['revoke', 'nobody'], 1, /has no key 'nobody'/],
    ['a tenant with a space', ['create', 'ci', '--tenant', 'r d'], 1, /^--tenant: expected 1 to 128 .*, but got 'r d'/],
    [
      'an id with a line break',
      ['create', 'c\ni', '--tenant', 'red'],
      1,
      /^keys create: expected 1 to 128 .*, but got 'c\\ni'/,
    ],
    ['a scope that there is not', ['create', 'ci', '--tenant', 'red', '--scopes', 'write'], 1, /^--scopes: .*'write'/],
    [
      'an empty list',
      ['create', 'ci', '--tenant', 'red', '--models', ','],
      2,
      /^keys create: expected names after --models/,
    ],
    ['a time that is over', ['create', 'ci', '--tenant', 'red', '--expires', '2020-01-31'], 1, /^--expires: .*2020/],
    ['no tenant', ['create', 'ci'], 2, /^keys create: expected --tenant/],
    ['an option of another', ['revoke', 'operator', '--tenant', 'red'], 2, /^Unknown arguments?: "--tenant"/],
    ['nothing', [], 2, /^keys: expected create, list or revoke/],
  ])('antiphon keys refuses %s, and changes nothing', async (_, args, code, message) => {
    await writeFile(file, OF_THE_OPERATOR);
    expect(await keys(...args)).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) });
    expect(await readFile(file, 'utf8')).toBe(OF_THE_OPERATOR);
    expect(await readdir(folder)).toEqual(['keys.yaml']);
  });

  it('antiphon keys create names the directory of KEYS_FILE that is missing', async () => {
    const missing = join(folder, 'missing');
    file = join(missing, 'keys.yaml');
    expect(await keys('create', 'ci', '--tenant', 'red')).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringContaining(`there is no directory ${missing}: make it first`),
    });
  });

  it('antiphon keys create makes no key that it cannot show', async () => {
    await writeFile(file, OF_THE_OPERATOR);
    const shell = 'exec "$0" "$1" keys create ci --tenant red --file "$2" > /dev/full';
    const child = spawn('sh', ['-c', shell, process.execPath, MAIN, file], { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    const [code] = (await once(child, 'close')) as [number];
    const why = 'the key was not made, as it cannot be shown: ENOSPC: no space left on device, write';
    expect({ code, stderr }).toEqual({ code: 1, stderr: `KEYS_FILE: ${file}: ${why}.\n` });
    expect(await readFile(file, 'utf8')).toBe(OF_THE_OPERATOR);
    expect(await readdir(folder)).toEqual(['keys.yaml']);
  });

  it('antiphon keys waits for no other command, and overwrites none', async () => {
    await writeFile(`${file}.new`, 'of another command');
    expect(await keys('create', 'ci', '--tenant', 'red')).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringContaining(`another command is changing it; if none is, remove ${file}.new`),
    });
    expect(await readFile(`${file}.new`, 'utf8')).toBe('of another command');
  });
});
