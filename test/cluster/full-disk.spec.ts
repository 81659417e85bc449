// Slow: starts the built service as several processes, and ends them.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { MOUNTED, SmallDisk } from '../support/small-disk.js';
import { SqliteService } from '../support/sqlite-service.js';

const MEBIBYTE = 1024 * 1024;
const DISK_MEBIBYTES = 32;
const LARGE = 'x'.repeat(MEBIBYTE / 2);

interface Answer {
  readonly id?: string;
  readonly error?: { readonly code: string };
}

describe('a service over a file on a disk that is full', () => {
  let disk: SmallDisk;
  let service: SqliteService;
  let acknowledged: string[];

  beforeEach(async () => {
    disk = await SmallDisk.mount(DISK_MEBIBYTES);
    // As other programs do that share the disk.
    writeFileSync(ballast(), Buffer.alloc(4 * MEBIBYTE));
    service = await SqliteService.start(
      { STATE_DIR: join(MOUNTED, 'data'), LOG_LEVEL: 'warn' },
      { wrapper: disk.wrapper },
    );
    acknowledged = [];
    // The reserve is made after a hundred transactions.
    for (let turn = 0; turn < 100; turn += 1) expect((await ask('Hello')).status).toBe(200);
  });
  afterEach(async () => {
    await service[Symbol.asyncDispose]();
    await disk[Symbol.asyncDispose]();
  });

  const ballast = (): string => join(disk.path, 'ballast');

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
