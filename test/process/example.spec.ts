// Slow: starts the built service as processes, and other test frameworks.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { itUnless } from '../support/tests-with-programs.js';
import { endProcesses, startProgram } from '../support/process-service.js';
import { type Installed, installForPython, installVitest } from '../support/installed-packages.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MODULES = join(ROOT, 'node_modules');

/** A directory with the packed package and its dependencies, and the compiled example beside them. */
async function install(directory: string): Promise<void> {
  const modules = join(directory, 'node_modules');
  const packed = join(modules, 'antiphon');
  await mkdir(packed, { recursive: true });
  // The tokenizer is optional: what each framework says of a missing package is recognised.
  const others = (await readdir(MODULES)).filter((name) => !name.startsWith('.') && name !== 'gpt-tokenizer');
  await Promise.all(others.map((name) => symlink(join(MODULES, name), join(modules, name))));
  if ('folder' in vitest) await symlink(join(vitest.folder, 'node_modules/vitest'), join(modules, 'vitest'));

  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', directory];
  const [{ filename }] = JSON.parse((await run('npm', pack, { cwd: ROOT })).stdout) as [{ filename: string }];
  await run('tar', ['-xzf', join(directory, filename), '--strip-components=1', '-C', packed]);
  // As npm installs it.
  const { bin } = JSON.parse(await readFile(join(packed, 'package.json'), 'utf8')) as { bin: { antiphon: string } };
  await mkdir(join(modules, '.bin'));
  await symlink(join('..', 'antiphon', bin.antiphon), join(modules, '.bin/antiphon'));
  await chmod(join(packed, bin.antiphon), 0o755);

  const tsc = join(MODULES, 'typescript-7/bin/tsc');
  await run(process.execPath, [tsc, '--project', 'examples/tsconfig.build.json'], { cwd: ROOT });
  await cp(join(ROOT, 'examples/dist'), join(directory, 'program'), { recursive: true });
  await writeFile(join(directory, 'program/package.json'), '{"type": "module"}');
}

/** A test of an agent, but for the import of its framework. */
const AGENT_TEST = `
import assert from 'node:assert/strict';
import { call, fail, simulate, text } from 'antiphon/testing';
import OpenAI from 'openai';

let sim, client;
beforeAll(async () => {
  sim = await simulate();
  client = new OpenAI({ baseURL: sim.url, apiKey: sim.apiKey });
});
beforeEach(() => sim.reset());
afterAll(() => sim.close());

const request = { model: 'gpt-5', input: 'How is Oslo?' };

it('answers after a rate limit', async () => {
  sim.answer(fail({ kind: 'rate_limit', retry_after: 0 }), call('weather', { city: 'Oslo' }));
  const { output } = await client.responses.create(request);
  assert.equal(output[0].name, 'weather', sim.journal);
  assert.deepEqual(sim.requests.map(({ status }) => status), ['refused', 'completed']);
});

it('names the line of the answers that were not enough', async () => {
  sim.answer(text('Fine.'));
  await client.responses.create(request);
  await assert.rejects(client.responses.create(request), /the answer of .* at .*[.]test[.]mjs:24:7/);
});
`;

/** How each framework imports its functions, and runs a file: without its own limit of five seconds, which is short on a busy machine. */
const JAVASCRIPT = {
  'node:test': ["import { after as afterAll, before as beforeAll, beforeEach, it } from 'node:test';", ['--test']],
  Jest: [
    "import { afterAll, beforeAll, beforeEach, it } from '@jest/globals';",
    [
      '--experimental-vm-modules',
      'node_modules/jest/bin/jest.js',
      '--config={"testEnvironment":"node","transform":{},"testMatch":["**/*.test.mjs"],"testTimeout":600000}',
    ],
  ],
  Vitest: [
    "import { afterAll, beforeAll, beforeEach, it } from 'vitest';",
    ['node_modules/vitest/vitest.mjs', 'run', '--testTimeout=600000', '--hookTimeout=600000'],
  ],
} as const;

const [vitest, pytest] = await Promise.all([installVitest(), installForPython('pytest==9.2.0', 'openai==3.57.0')]);
const reasonOf = (tool: Installed): string | undefined => ('reason' in tool ? tool.reason : undefined);

/** The shell's Node is the one that runs the tests. */
const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);

describe('a program with the packed package', () => {
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'packed-'));
    await install(directory);
  });

  afterEach(endProcesses);
  afterAll(() => rm(directory, { recursive: true }));

  it('the packed package runs the example of a platform', async () => {
    const { origin } = await startProgram(join(directory, 'program/platform/main.js'), /listens on (http:\/\/\S+)/);
    const client = new OpenAI({ apiKey: 'key-of-red', baseURL: `${origin}/v1`, maxRetries: 0 });
    const { data, response } = await client.responses.create({ model: 'gpt-5', input: 'Hello' }).withResponse();
    expect(data).toMatchObject({ id: expect.stringMatching(/^resp_e0/) as unknown as string, status: 'completed' });
    expect(response.headers.get('x-ratelimit-remaining-tokens')).toMatch(/^\d+$/);
    const stranger = new OpenAI({ apiKey: 'key-of-green', baseURL: `${origin}/v1`, maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toThrow(OpenAI.AuthenticationError);
  });

  it('the packed package starts the service with npx', async () => {
    const npx = spawn('npx', ['--no-install', 'antiphon', '--port', '0'], {
      cwd: directory,
      env: { PATH, HOME: directory },
      stdio: ['ignore', 'pipe', 'ignore'],
      // A group, as in a terminal.
      detached: true,
    });
    const ended = once(npx, 'close');
    let written = '';
    let origin: string | undefined;
    npx.stdout.setEncoding('utf8').on('data', (chunk: string) => (written += chunk));
    while ((origin = /listens on (\S+)/.exec(written)?.[1]) === undefined) await once(npx.stdout, 'data');
    const client = new OpenAI({ apiKey: 'none', baseURL: `${origin}/v1`, maxRetries: 0 });
    expect(await client.responses.create({ model: 'gpt-5', input: 'Hello' })).toMatchObject({ status: 'completed' });
    process.kill(-(npx.pid as number), 'SIGINT');
    await ended;
    expect(written.match(/Antiphon has stopped\. Goodbye\./g)).toHaveLength(1);
  });

  /** Runs tests to their end, without what is set for these here. Gives all that they wrote; rejects when one fails. */
  async function runTests(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const own = { PATH, HOME: directory, NO_COLOR: '1', ...env };
    const { stdout, stderr } = await run(file, args, { cwd: directory, env: own });
    return stdout + stderr;
  }

  const frameworks = Object.keys(JAVASCRIPT) as readonly (keyof typeof JAVASCRIPT)[];
  for (const framework of frameworks) {
    const reason = framework === 'Vitest' ? reasonOf(vitest) : undefined;
    itUnless(reason, `tests an agent with ${framework}`, async () => {
      const [imports, args] = JAVASCRIPT[framework];
      const file = `${framework.replace(':', '-')}.test.mjs`;
      await writeFile(join(directory, file), imports + AGENT_TEST);
      expect(await runTests(process.execPath, [...args, file])).toMatch(/\bpass 2\b|\b2 passed\b/);
    });
  }

  itUnless(reasonOf(pytest), 'tests an agent with pytest, as examples/agent-test does', async () => {
    for (const file of ['conftest.py', 'test_weather.py'])
      await cp(join(ROOT, 'examples/agent-test', file), join(directory, 'tests', file));
    const args = ['-m', 'pytest', '-p', 'no:cacheprovider', 'tests'];
    const env = { PYTHONPATH: 'folder' in pytest ? pytest.folder : '', PYTHONDONTWRITEBYTECODE: '1' };
    expect(await runTests('python3', args, env)).toContain('2 passed');
  });
});
