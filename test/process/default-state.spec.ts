// Slow: starts the built service as processes.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { createApp, SimulatorModule } from '../../src/index.js';
import { MemoryBackend, StateBackend } from '../../src/state/index.js';
import { endProcesses, runToEnd, type ServiceProcess, startProcess } from '../support/process-service.js';

/** Variables that do not say where state is. */
const UNSAID = { STATE: undefined };

function clientOf({ origin }: ServiceProcess): OpenAI {
  return new OpenAI({ apiKey: 'none', baseURL: `${origin}/v1`, maxRetries: 0 });
}

afterEach(endProcesses);

describe('a start that is not told where state is', () => {
  let folder: string;

  const start = (args: readonly string[] = []): Promise<ServiceProcess> => startProcess(UNSAID, args, { cwd: folder });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-default-'));
  });

  afterEach(() => rm(folder, { recursive: true }));

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'the service stores below ./data, says so, and continues a conversation after %s and a restart',
    async (signal) => {
      const before = await start();
      const first = await clientOf(before).responses.create({ model: 'gpt-5', input: 'My name is Ada.' });
      const conversation = await clientOf(before).conversations.create({ metadata: { topic: 'names' } });
      before.kill(signal);
      const { stdout } = await before.exited;
      expect(stdout).toContain(`\nState: sqlite in ${join(folder, 'data')} (kept over restarts)\n`);
      expect(await readdir(folder)).toEqual(['data']);
      expect(await readdir(join(folder, 'data'))).toContain('antiphon.sqlite');
      const client = clientOf(await start());
      expect(await client.responses.retrieve(first.id)).toMatchObject({ output_text: first.output_text });
      const next = await client.responses.create({ model: 'gpt-5', previous_response_id: first.id, input: 'And now?' });
      expect(next).toMatchObject({ status: 'completed', previous_response_id: first.id });
      expect(await client.conversations.retrieve(conversation.id)).toMatchObject({ metadata: { topic: 'names' } });
    },
  );

  it('docs/getting-started.md shows what a start writes, its first turn, and a misspelt field', async () => {
    const page = await readFile('docs/getting-started.md', 'utf8');
    const [shown = '', seen = ''] = Array.from(page.matchAll(/^```console\n(.*?)^```/gms), ([, block = '']) => block);
    const { exited, kill, origin } = await startProcess({ ...UNSAID, LOG_TURNS: 'all' }, [], { cwd: folder });
    const answers = [{ stream: true }, { temprature: 0 }].map((member) =>
      fetch(`${origin}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-5', input: 'Hello!', ...member }),
      }).then((answer) => answer.text()),
    );
    const [stream = '', refusal = ''] = await Promise.all(answers);
    kill('SIGTERM');
    const alike = (text: string): readonly string[] =>
      text
        .replaceAll(folder, '/home/ada/antiphon')
        .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'ORIGIN')
        .replaceAll(
          /\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=\[Nest\] )\d+ |(?<=_)\w{32}|(?<=ms=)\d+|(?<="obfuscation":")\w+/g,
          '…',
        )
        .split('\n');
    const { stdout } = await exited;
    expect(alike(stdout)).toEqual(expect.arrayContaining([...alike(shown.replace(/^\$.*\n/, ''))]));
    const [delta = '', done = ''] = alike(seen).filter((line) => line.startsWith('data: '));
    expect(alike(stream)).toContain(delta);
    for (const piece of done.split('…')) expect(stream).toContain(piece);
    expect(seen).toContain(`\n${refusal}\n`);
  });

  it('the service stores in the directory of --state-dir', async () => {
    const { exited, kill } = await start(['--state-dir', 'kept here']);
    kill('SIGTERM');
    expect((await exited).code).toBe(0);
    expect(await readdir(folder)).toEqual(['kept here']);
  });

  it('a start that is not told where state is does what .env says', async () => {
    await writeFile(join(folder, '.env'), 'STATE=memory\n');
    const { output, written } = await start();
    await written(/State: /);
    expect(output()).toContain('State: memory (lost when this process ends)');
  });

  it.each([
    ['start', [], 'stderr', ''],
    ['check', ['check'], 'stdout', 'fault   '],
    ['keys list', ['keys', 'list'], 'stderr', ''],
    ['export', ['export'], 'stderr', ''],
  ] as const)('antiphon %s says in one line that .env cannot be read', async (_, args, stream, before) => {
    await mkdir(join(folder, '.env'));
    const exit = await runToEnd(UNSAID, 'main.js', args, { cwd: folder });
    expect(exit.code).toBe(1);
    expect(exit[stream].split('\n')[0]).toBe(
      `${before}.env: cannot be read: EISDIR: illegal operation on a directory, read.`,
    );
    expect(exit.stdout + exit.stderr).not.toContain('    at ');
  });

  it('a start that is not told where state is reads a .env with a byte order mark, whose first name it knows', async () => {
    await writeFile(join(folder, '.env'), '\uFEFFSTATE=memory\n');
    const { output, written } = await start();
    await written(/Try: /);
    expect(output()).toContain('State: memory (lost when this process ends)');
    expect(output()).not.toContain('has no effect');
  });

  it('a start that is not told where state is says in one line that its directory is gone', async () => {
    await rm(folder, { recursive: true });
    await mkdir(folder);
    const shell = ['sh', '-c', 'rmdir "$PWD" && exec "$@"', 'sh'];
    const exit = await runToEnd(UNSAID, 'main.js', [], { cwd: folder, wrapper: shell });
    await mkdir(folder);
    expect(exit).toMatchObject({ code: 1, stdout: '' });
    expect(exit.stderr).toMatch(/^[^\n]*directory[^\n]*\n$/);
  });

  it('a start that is not told where state is refuses several workers in one sentence', async () => {
    // An empty text counts as not set.
    const exit = await runToEnd({ STATE: '', PORT: '0', WORKERS: '2' });
    expect(exit).toMatchObject({ code: 1, stdout: '' });
    expect(exit.stderr.trimEnd().split('\n')).toEqual([
      'WORKERS: more than 1 needs STATE=postgres or STATE=redis. ' +
        'With STATE=sqlite, the default of npm start, one process has the file to itself.',
    ]);
  });
});

describe('a database that is not used', () => {
  it('a database that is not used is reported', async () => {
    const urls = { DATABASE_URL: 'postgres://localhost/x', REDIS_URL: 'redis://localhost' };
    const { exited, kill } = await startProcess({ STATE: 'memory', ...urls });
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    for (const name of Object.keys(urls)) expect(stdout + stderr).toContain(`${name} is ignored: STATE=memory stores`);
  });
});

describe('a program with createApp', () => {
  it('a program with createApp has its state in memory', async () => {
    const app = await createApp({ environment: { LOG_LEVEL: 'fatal' }, imports: [SimulatorModule] });
    expect(app.get(StateBackend, { strict: false })).toBeInstanceOf(MemoryBackend);
    await app.close();
  });
});
