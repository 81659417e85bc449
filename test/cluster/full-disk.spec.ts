// Slow: starts the built service as several processes, and ends them.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { SqliteService } from '../support/sqlite-service.js';

/** Where processes of the namespace find it. */
const MOUNTED = '/mnt';

/** A file system in memory that is full soon. It lives in a mount namespace of its own, and needs no rights but to make one. */
class SmallDisk implements AsyncDisposable {
  private constructor(
    private readonly holder: ReturnType<typeof hold>,
    /** The directory of the disk, as tests find it. */
    readonly path: string,
    /** Runs a process that finds the disk at `MOUNTED`. */
    readonly wrapper: readonly string[],
  ) {}

  /** Throws if this machine lets nobody mount, as some containers do. */
  static async mount(mebibytes: number): Promise<SmallDisk> {
    const holder = hold(mebibytes);
    let complaint = '';
    holder.stderr.on('data', (text: Buffer) => (complaint += text.toString()));
    const [told] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'close')])) as [unknown];
    if (!Buffer.isBuffer(told)) throw new Error(`no file system can be mounted here: ${complaint.trim()}`);
    const pid = String(holder.pid);
    const wrapper = ['nsenter', '--target', pid, '--user', '--mount', '--preserve-credentials'];
    return new SmallDisk(holder, `/proc/${pid}/root${MOUNTED}`, wrapper);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.holder, 'exit');
    this.holder.stdin.end();
    await exited;
  }
}

/** A process that keeps the namespace until its input ends. */
function hold(mebibytes: number) {
  const script = `mount -t tmpfs -o size=${mebibytes}m tmpfs ${MOUNTED} && echo mounted && exec cat`;
  return spawn('unshare', ['--map-root-user', '--mount', 'sh', '-c', script], { stdio: 'pipe' });
}

const MEBIBYTE = 1024 * 1024;
const DISK_MEBIBYTES = 32;
const LARGE = 'x'.repeat(MEBIBYTE / 2);

interface Answer {
  readonly id?: string;
  readonly error?: { readonly code: string };
}

let service: SqliteService;
let acknowledged: string[];

beforeEach(() => {
  acknowledged = [];
});

async function send(method: string, path: string, body?: object): Promise<{ status: number; answer: Answer }> {
  const headers = { 'content-type': 'application/json' };
  const request = { method, path, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const { status, text } = await service.process.client.send(request);
  return { status, answer: JSON.parse(text) as Answer };
}

const ask = (input: string) => send('POST', '/v1/responses', { model: 'gpt-5', input });

/** Takes turns until one is refused. */
async function fill(input = LARGE): Promise<void> {
  for (;;) {
    const { status, answer } = await ask(input);
    if (status !== 200) {
      expect({ status, code: answer.error?.code }).toEqual({ status: 503, code: 'service_unavailable' });
      return;
    }
    acknowledged.push(String(answer.id));
  }
}

async function expectAcknowledged(): Promise<void> {
  for (const id of acknowledged) expect((await send('GET', `/v1/responses/${id}`)).status).toBe(200);
}

const readiness = async (): Promise<number> => (await send('GET', '/readyz')).status;

/** Kills it, and starts it again: what it said until then is for the operator. */
async function kill(): Promise<string> {
  const { process: killed } = service;
  killed.kill('SIGKILL');
  const { stdout } = await killed.exited;
  await service.startAgain();
  return stdout;
}

describe('a service over a file on a disk that is full', () => {
  let disk: SmallDisk;

  beforeEach(async () => {
    disk = await SmallDisk.mount(DISK_MEBIBYTES);
    // As other programs do that share the disk.
    writeFileSync(ballast(), Buffer.alloc(4 * MEBIBYTE));
    service = await SqliteService.start(
      { STATE_DIR: join(MOUNTED, 'data'), LOG_LEVEL: 'warn' },
      { wrapper: disk.wrapper },
    );
    // The reserve is made after a hundred transactions.
    for (let turn = 0; turn < 100; turn += 1) expect((await ask('Hello')).status).toBe(200);
  });
  afterEach(async () => {
    await service[Symbol.asyncDispose]();
    await disk[Symbol.asyncDispose]();
  });

  const ballast = (): string => join(disk.path, 'ballast');

  it('a service on a full disk starts again after a kill, answers reads, refuses what has to be written, has room again when its operator deletes something, and goes on when there is more', async () => {
    await fill();
    await fill('Hello');
    expect(acknowledged.length).toBeGreaterThan(5);
    expect(await kill()).toContain('is full: make room');
    await expectAcknowledged();
    await fill('Hello');
    expect(await readiness()).toBe(503);

    for (const id of acknowledged.splice(0, 10)) expect((await send('DELETE', `/v1/responses/${id}`)).status).toBe(200);
    expect(await readiness()).toBe(200);
    for (let turn = 0; turn < 10; turn += 1) expect((await ask('Hello')).status).toBe(200);
    await expectAcknowledged();

    await fill();
    await fill('Hello');
    expect(await readiness()).toBe(503);
    rmSync(ballast());
    await kill();
    await expectAcknowledged();
    expect((await ask('Hello')).status).toBe(200);
    expect(await readiness()).toBe(200);
  });
});

describe('a service over a file that may not grow', () => {
  it('a service over a file that may not grow refuses what has to be written, names the limit, answers reads, and goes on without it', async () => {
    const bytes = 12 * MEBIBYTE;
    service = await SqliteService.start({ LOG_LEVEL: 'warn' }, { wrapper: ['prlimit', `--fsize=${bytes}:unlimited`] });
    await using _ = service;
    await fill();
    await fill('Hello');
    await expectAcknowledged();
    const { pid } = service.process;
    await once(spawn('prlimit', ['--pid', String(pid), '--fsize=unlimited']), 'exit');
    expect(await readiness()).toBe(200);
    expect((await ask(LARGE)).status).toBe(200);
    expect(await kill()).toMatch(/cannot be written \(.*\): check the disk, its quota, and the limit of file sizes/);
    await expectAcknowledged();
  });
});
