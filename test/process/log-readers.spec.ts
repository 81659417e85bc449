// Slow: starts the built service as processes.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, read } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

import { afterEach, describe, expect, it } from '@jest/globals';

import { createTestDatabase } from '../support/postgres/test-database.js';
import { beginProcess, endProcesses, startProcess } from '../support/process-service.js';
import { RawClient } from '../support/raw-client.js';

afterEach(endProcesses);

describe('the reader of a log', () => {
  it.each([1, 2])(
    'the reader of a log may go: the service goes on and counts what it cannot write, with WORKERS=%d',
    async (WORKERS) => {
      await using database = await createTestDatabase();
      const { client, exited, kill, closeOutput } = await startProcess({
        ...{ STATE: 'postgres', DATABASE_URL: database.url, WORKERS: String(WORKERS) },
        ...{ METRICS: 'true', LOG_FORMAT: 'json' },
      });
      closeOutput();
      for (let count = 0; count < 10; count += 1) {
        expect(await client.send({ path: '/v1/nothing' })).toMatchObject({ status: 404 });
        expect(await client.post('{"model":"gpt-5","input":"Hi"}')).toMatchObject({ status: 200 });
      }
      const { text } = await client.send({ path: '/metrics' });
      expect(Number(/^antiphon_log_lines_lost_total\{stream="stdout"\} (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
      kill('SIGTERM');
      expect(await exited).toMatchObject({ code: 0, signal: null });
    },
  );

  it('the reader of a log that takes over a pipe is told how many lines the one before it has missed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-log-'));
    const pipe = join(directory, 'log');
    execFileSync('mkfifo', [pipe]);
    const { exited, kill } = beginProcess({}, { wrapper: ['sh', '-c', `exec "$@" > ${pipe}`, 'sh'] });
    const first = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'ignore'] });
    const origin = await textIn(first.stdout, /listens on (\S+)/);
    const refuse = async (): Promise<void> => expect((await fetch(`${origin}/v1/nothing`)).status).toBe(404);
    const gone = once(first, 'exit');
    first.kill('SIGKILL');
    await gone;
    for (let count = 0; count < 3; count += 1) await refuse();
    const second = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'ignore'] });
    const told = textIn(second.stdout, /WARN .*\[Log\] lines that could not be written here: (\d+) \(EPIPE\)\n/);
    // It is opened when it is opened: until then, lines are lost.
    for (let isTold = false; !isTold; isTold = (await Promise.race([told, refuse()])) !== undefined);
    expect(Number(await told)).toBeGreaterThanOrEqual(3);
    const ended = once(second, 'exit');
    kill('SIGTERM');
    expect(await exited).toMatchObject({ code: 0, signal: null });
    await ended;
    await rm(directory, { recursive: true });
  });

  it('the reader of a log may stand still: a bounded amount is kept for it, and it is told afterwards how many lines are missing', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-log-'));
    const pipe = join(directory, 'log');
    execFileSync('mkfifo', [pipe]);
    const held = openSync(pipe, constants.O_RDWR);
    const { exited, kill } = beginProcess(
      { LOG_TURNS: 'all', LOG_FORMAT: 'json', METRICS: 'true' },
      { wrapper: ['sh', '-c', `exec "$@" > ${pipe}`, 'sh'] },
    );
    const buffer = Buffer.alloc(64 * 1024);
    let start = '';
    // Each read waits for the next line.
    while (!start.includes('listens on')) start += buffer.toString('utf8', 0, await readSome(held, buffer));
    const client = new RawClient(Number(/listens on \S+:(\d+)/.exec(start)?.[1]));
    // Each character takes six in the log.
    const ask = () => client.post(JSON.stringify({ model: '\u202e'.repeat(1000), input: 'Hi', store: false }));
    let turns = 0;
    for (let lost = 0; lost < 20;) {
      for (let turn = 0; turn < 20; turn += 1) expect(await ask()).toMatchObject({ status: 200 });
      turns += 20;
      const { text } = await client.send({ path: '/metrics' });
      lost = Number(/^antiphon_log_lines_lost_total\{stream="stdout"\} (\d+)$/m.exec(text)?.[1]);
      // Twice the bound, and what a pipe holds.
      expect(turns).toBeLessThan(400);
    }
    const reader = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'ignore'] });
    const told = textIn(reader.stdout, /lines that could not be written here: (\d+) \(nobody reads them\)/);
    for (let isTold = false; !isTold; isTold = (await Promise.race([told, ask().then(() => undefined)])) !== undefined);
    expect(Number(await told)).toBeGreaterThanOrEqual(20);
    closeSync(held);
    const ended = once(reader, 'exit');
    client.close();
    kill('SIGTERM');
    expect(await exited).toMatchObject({ code: 0, signal: null });
    await ended;
    await rm(directory, { recursive: true });
  });
});

/** Reads what is there, or comes next; gives the number of bytes. */
const readSome = async (file: number, buffer: Buffer): Promise<number> =>
  (await promisify(read)(file, buffer, 0, buffer.length, null)).bytesRead;

/** Resolves with the group of the pattern once the text of the stream has it. */
function textIn(stream: Readable, pattern: RegExp): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const [, found] = pattern.exec(text) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
}
