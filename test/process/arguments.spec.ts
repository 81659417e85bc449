// Slow: starts the built service as processes.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from '@jest/globals';

import { ArgumentError, readArguments } from '../../src/program/command-line/index.js';
import { endProcesses, type Exit, type Program, runToEnd, startProcess } from '../support/process-service.js';
import { SocketClient } from '../support/socket-client.js';

const { version, engines } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
  readonly engines: { readonly node: string };
};

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

function run(...args: readonly string[]): Promise<Exit> {
  return runToEnd({ PORT: '0' }, 'main.js', args);
}

function expectLine(
  { code, signal, stdout, stderr }: Exit,
  expected: { readonly code: number; readonly line: RegExp },
): void {
  expect({ code, signal, stdout }).toEqual({ code: expected.code, signal: null, stdout: '' });
  expect(stderr.split('\n')).toEqual([expect.stringMatching(expected.line), '']);
}

afterEach(endProcesses);

describe('an argument', () => {
  it.each(['--help', '-h'])('%s is answered with all options', async (argument) => {
    const exit = await run(argument);
    expect(exit).toMatchObject({ code: 0, stderr: '' });
    for (const option of [
      'port',
      'host',
      'providers',
      'state-dir',
      'max-websocket-connections',
      'tenant',
      'no-secrets',
      'unmatched',
      'help',
      'version',
    ]) {
      expect(exit.stdout).toContain(`--${option}`);
    }
    expect(exit.stdout).toMatch(/^Options of `export`; `import` has none\./m);
    expect(exit.stdout).toMatch(/^Exit codes: 0 .* 1 .* 2 /m);
  });

  it('--version is answered with the version', async () => {
    expect(await run('--version')).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each<readonly [args: readonly string[], line: RegExp]>([
    [['--prot', '8080'], /^Unknown arguments: "--prot", "8080"\. Did you mean --port\? --help /],
    [['--stat-dir=x'], /^Unknown argument: "--stat-dir=x"\. Did you mean --state-dir\? /],
    [['simulat', 'a.yaml'], /^Unknown arguments: "simulat", "a\.yaml"\. Did you mean simulate\? /],
    [['--port', '8080', 'check'], /^Unknown argument: "check"\. Write check before all options\. /],
    [['check', '--provider=x'], /Did you mean --providers\? /],
    [['keys', 'create', 'ci', '--tennant', 'a'], /Did you mean --tenant\? /],
    [['--verbose', '--port', '0'], /^Unknown argument: "--verbose"\. /],
    [['--help=me'], /^Unknown argument: "--help=me"\. /],
    [['serve\n'], /^Unknown argument: "serve\\n"\. /],
    [['-p', '1'], /^Unknown arguments: "-p", "1"\. /],
    [['--port'], /^--port: expected a value\.$/],
    [['export', '--port', '1'], /^Unknown arguments: "--port", "1"\. /],
    [['export', '--tenant'], /^--tenant: expected a value\.$/],
    [['import', 'file'], /^Unknown argument: "file"\. --help lists all of them\.$/],
    [['import', '--no-secrets'], /^--no-secrets belongs to export\.$/],
    [['import', '--tenant=a'], /^--tenant belongs to export\.$/],
    [['--tenant', 'a'], /^--tenant belongs to export\.$/],
    [['--host='], /^--host: expected a value\.$/],
    [['simulate', '--host', '::1'], /^Unknown arguments?: "--host"\. --help /],
    [['simulate', '--unmatchd', 'error'], /Did you mean --unmatched\? /],
    [['export', '--no-secret'], /Did you mean --no-secrets\? /],
  ])('a wrong argument is refused in one line: %j', (args, line) => {
    const read = (): unknown => readArguments(args);
    expect(read).toThrow(ArgumentError);
    expect(read).toThrow(line);
    expect(read).not.toThrow(/\n/);
  });

  it.each<readonly [args: readonly string[], line: RegExp]>([
    [['serve\n'], /^Unknown argument: "serve\\n"\. /],
    [['export', '--tenant'], /^--tenant: expected a value\.$/],
  ])('a wrong argument ends the program with exit code 2: %j', async (args, line) => {
    expectLine(await run(...args), { code: 2, line });
  });

  it.each<readonly [args: readonly string[], line: RegExp]>([
    [['--port', 'eighty'], /^--port: expected a whole number, but got 'eighty'\.$/],
    [['--port', '-1'], /^--port: must be 0 or more, but got -1\.$/],
    [['--host', '0.0.0.0'], /^--host: '0\.0\.0\.0' is public, but there are no API_KEYS\./],
    [['--max-websocket-connections=many'], /^--max-websocket-connections: expected a whole number/],
    [['--providers', '/nowhere.yaml'], /^--providers: \/nowhere\.yaml: ENOENT/],
  ])('an argument with a value that is not valid is named as a variable would be: %j', async (args, line) => {
    expectLine(await run(...args), { code: 1, line });
  });

  it('an argument overrides its variable', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-arguments-'));
    const providers = join(folder, 'providers.json');
    await writeFile(providers, '{"models":[{"name":"mine","provider":"simulator"}]}');
    const environment = { PORT: '1', HOST: '192.0.2.1', PROVIDERS_FILE: '/nowhere.json', WS_MAX_CONNECTIONS: '0' };
    const values = ['--port', '0', '--host', '127.0.0.1', '--providers', providers];
    const service = await startProcess(environment, [...values, '--max-websocket-connections', '1']);
    const { client, port, exited, kill } = service;
    expect(await client.post('{"model":"mine","input":"Hi"}')).toMatchObject({ status: 200 });
    expect(await client.post('{"model":"other","input":"Hi"}')).toMatchObject({ status: 404 });
    const first = await SocketClient.open({ port });
    const second = await SocketClient.open({ port });
    expect(await second.closed).toMatchObject({ code: 1013 });
    await first.close();
    kill('SIGTERM');
    expect(await exited).toMatchObject({ code: 0 });
    await rm(folder, { recursive: true });
  });
});

describe('simulate', () => {
  it('simulate prints the URL of a service for tests, which answers with its scripts and is controlled over HTTP', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-simulate-'));
    const script = join(folder, 'clerk.json');
    await writeFile(script, '{"turns":[{"text":"Next, please."}],"match":"last_user_message"}');
    const environment = { STATE: 'postgres', PROVIDERS_FILE: '/nowhere.json', PORT: '1', SIMULATOR_UNMATCHED: 'error' };
    const announced = /^(http:\S+)\/v1\n$/;
    const service = await startProcess(environment, ['simulate', script, '--unmatched', 'generate'], { announced });
    const { client, origin, exited, kill } = service;
    expect(await client.post('{"model":"clerk","input":"Hi"}')).toMatchObject({ status: 200 });
    const journal = await (await fetch(`${origin}/simulator/requests`)).json();
    expect(journal).toMatchObject({ data: [{ request: { input: 'Hi' }, response: { output_text: 'Next, please.' } }] });
    kill('SIGTERM');
    expect(await exited).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(announced) });
    await rm(folder, { recursive: true });
  });

  it('simulate ends with the place in a script that is not valid', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-simulate-'));
    const script = join(folder, 'clerk.json');
    await writeFile(script, '{"turns":[{"text":7}]}');
    expectLine(await run('simulate', script), {
      code: 1,
      line: /^SIMULATOR_SCRIPTS: .*clerk\.json: turns\[0\]\.text must/,
    });
    await rm(folder, { recursive: true });
  });
});

describe('a command whose reader has gone', () => {
  it.each(['--help', '--version', 'check'])(
    'antiphon %s ends in silence when its reader has gone',
    async (argument) => {
      // It begins when its reader has gone.
      const gate = ['-c', 'read -r _; exec "$@"', 'sh', process.execPath, MAIN, argument];
      const child = spawn('sh', gate, { cwd: tmpdir(), env: { PATH: process.env['PATH'], STATE: 'memory' } });
      let stderr = '';
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
      const [ended, closed] = [once(child, 'exit'), once(child.stdout, 'close')];
      child.stdout.destroy();
      await closed;
      child.stdin.end('\n');
      const [code] = (await ended) as [number];
      expect({ code, stderr }).toEqual({ code: 141, stderr: '' });
    },
  );
});

describe('a command whose output cannot be written', () => {
  it.each(['--help', '--version', 'check'])('antiphon %s says so in one line, and fails', async (argument) => {
    const shell = ['-c', 'exec "$@" > /dev/full', 'sh', process.execPath, MAIN, argument];
    const child = spawn('sh', shell, {
      cwd: tmpdir(),
      env: { PATH: process.env['PATH'], STATE: 'memory' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    const [code] = (await once(child, 'close')) as [number];
    const line = 'The output cannot be written: ENOSPC: no space left on device, write.\n';
    expect({ code, stderr }).toEqual({ code: 1, stderr: line });
  });
});

describe('Node', () => {
  const [major = 0, minor = 0] = (/^>=(\d+)\.(\d+)$/.exec(engines.node) ?? []).slice(1).map(Number);
  const oldest = `${major}.${minor}.0`;

  /** Runs a program with a Node that says it has another version. */
  async function runOn(node: string, program: Program, ...args: readonly string[]): Promise<Exit> {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-node-'));
    const preload = join(folder, 'version.cjs');
    const versions = `{ ...process.versions, node: ${JSON.stringify(node)} }`;
    await writeFile(preload, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
    const exit = await runToEnd({ PORT: '0', NODE_OPTIONS: `--require=${preload}` }, program, args);
    await rm(folder, { recursive: true });
    return exit;
  }

  it.each(['main.js', 'migrate.js'] as const)(
    'a Node that is too old for %s is told so in one sentence',
    async (program) => {
      for (const node of ['18.20.8', '20.20.2', `${major}.${minor - 1}.9`]) {
        const line = new RegExp(
          `^Antiphon needs Node ${major}\\.${minor} or newer, but this is Node ${node}: install it `,
        );
        expectLine(await runOn(node, program, '--version'), { code: 1, line });
      }
    },
  );

  it('a test that imports antiphon/testing with a Node that is too old is told so', async () => {
    const { code, stderr } = await runOn('20.20.2', '../lib/testing.js');
    expect([code, stderr]).toEqual([1, expect.stringContaining('Error: Antiphon needs Node 22.21 or newer, but this')]);
    expect(await runOn(oldest, '../lib/testing.js')).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([oldest, `${major}.${minor + 1}.0`, `${major + 1}.0.0`])('Node %s is not too old', async (node) => {
    expect(await runOn(node, 'main.js', '--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it('Node has only old syntax and few files to read before its version is known', async () => {
    for (const name of ['main.js', 'migrate.js', 'node-version.js']) {
      const text = await readFile(new URL(`../../dist/${name}`, import.meta.url), 'utf8');
      expect(text).not.toMatch(/\?\?|\?\.|\|\|=|^\s*await |static/m);
      expect([...text.matchAll(/^import .* from '(.*)'/gm)].map(([, from]) => from)).toEqual(
        name === 'node-version.js' ? [] : ['./node-version.js'],
      );
    }
  });
});
