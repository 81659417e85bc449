// Slow: starts the built service as several processes, and ends them.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { pause } from '../support/pause.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { endProcesses } from '../support/process-service.js';
import type { SocketClient } from '../support/socket-client.js';
import { openSocketsOn, startWorkers, type WorkerProcesses } from './worker-processes.js';

/** Longer than any test may take: what waits for it never ends by itself. */
const FOR_EVER = '600000';
/** An answer of a second or so. */
const SLOW = { SIMULATOR_LATENCY: '0/30', DRAIN_TIMEOUT_MS: FOR_EVER };
/** The model says one word, and then nothing for the rest of the test. */
const STUCK = { SIMULATOR_LATENCY: '0/60000' };
const RESTARTING = { code: 1012, reason: 'service_restarting' };
const TURN = { model: 'gpt-4.1', input: 'Tell me something.' };

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await endProcesses();
  await database.drop();
});

/** A turn that is running on every worker. */
async function beginOnAll(service: WorkerProcesses): Promise<readonly SocketClient[]> {
  const clients = await openSocketsOn(service, service.workers());
  for (const client of clients) {
    client.create(TURN);
    while ((await client.next()).type !== 'response.in_progress');
  }
  return clients;
}

async function expectFinished(clients: readonly SocketClient[]): Promise<void> {
  for (const client of clients) {
    let type = '';
    while (!/^response\.(?:completed|failed)$|^error$/.test(type)) ({ type } = await client.next());
    expect(type).toBe('response.completed');
    expect(await client.closed).toEqual(RESTARTING);
  }
}

/** No worker was replaced. That all are gone is what `exited` waits for. */
function expectNoOthers(service: WorkerProcesses): void {
  expect(service.workers()).toHaveLength(2);
  expect(service.output()).not.toContain('exited (');
}

describe('an end', () => {
  it('SIGHUP has all workers read PROVIDERS_FILE again, and a shutdown lets the turns of all finish, closes their sockets, and has exit code 0', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-workers-'));
    const PROVIDERS_FILE = join(folder, 'providers.json');
    const write = (...names: readonly string[]): Promise<void> =>
      writeFile(PROVIDERS_FILE, JSON.stringify({ models: names.map((name) => ({ name, provider: 'simulator' })) }));
    await write('before', TURN.model);
    const service = await startWorkers(database.url, { ...SLOW, PROVIDERS_FILE });
    await write('after', TURN.model);
    service.kill('SIGHUP');
    await service.written(/(?:reloaded [^]*){2}/);
    const readers = [...service.output().matchAll(/"pid":(\d+)[^\n]*reloaded /g)].map(([, pid]) => Number(pid));
    expect(readers.sort()).toEqual([...service.workers()].sort());
    expect(await service.client.post(JSON.stringify({ ...TURN, model: 'before' }))).toMatchObject({ status: 404 });
    expect(await service.client.post(JSON.stringify({ ...TURN, model: 'after' }))).toMatchObject({ status: 200 });

    const clients = await beginOnAll(service);
    service.kill('SIGTERM');
    await expectFinished(clients);
    expect(await service.exited).toMatchObject({ code: 0, signal: null });
    expectNoOthers(service);
    await rm(folder, { recursive: true });
  });

  it('SIGHUP has all workers read PROMPTS_FILE and MCP_SERVERS again where there is no other file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-workers-'));
    const files = { PROMPTS_FILE: join(folder, 'prompts.json'), MCP_SERVERS: join(folder, 'servers.json') };
    const prompts = [{ id: 'p', versions: [{ version: '1', model: TURN.model }] }];
    await writeFile(files.PROMPTS_FILE, JSON.stringify({ prompts }));
    await writeFile(files.MCP_SERVERS, JSON.stringify({ servers: { docs: { url: 'http://127.0.0.1:1/mcp' } } }));
    const service = await startWorkers(database.url, { ...SLOW, ...files });
    service.kill('SIGHUP');
    for (const variable of Object.keys(files)) {
      await service.written(new RegExp(`(?:${variable} was read again[^]*){2}`));
    }
    expect(await service.client.post(JSON.stringify(TURN))).toMatchObject({ status: 200 });
    await rm(folder, { recursive: true });
  });

  it('a shutdown of workers is the same when a terminal sends its signal to all of them', async () => {
    const service = await startWorkers(database.url, SLOW);
    const clients = await beginOnAll(service);
    for (const pid of [...service.workers(), service.pid, service.pid]) process.kill(pid, 'SIGINT');
    await expectFinished(clients);
    const { code, signal, stdout } = await service.exited;
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    expect(stdout.match(/Antiphon has stopped\. Goodbye\./g)).toHaveLength(1);
    expectNoOthers(service);
  });

  it('a shutdown of workers comes at once when Ctrl+C is pressed again', async () => {
    const service = await startWorkers(database.url, { ...STUCK, DRAIN_TIMEOUT_MS: FOR_EVER });
    const clients = await beginOnAll(service);
    service.kill('SIGINT');
    await service.written(/Ctrl\+C again stops now/);
    // Presses within a moment count once, however long this machine takes for them.
    const pressing = setInterval(() => service.kill('SIGINT'), 100);
    const { code, signal, stdout, stderr } = await service.exited.finally(() => clearInterval(pressing));
    // The last press may come when the process no longer handles it.
    expect([130, 'SIGINT']).toContain(signal ?? code);
    expect(stdout + stderr).toContain('stopping now: running turns are cut off');
    expect((stdout + stderr).match(/stopping: /g)).toHaveLength(1);
    for (const client of clients) expect(await client.closed).toMatchObject({ code: 1006 });
    expectNoOthers(service);
  });

  it('a shutdown of workers fails what outlives DRAIN_TIMEOUT_MS', async () => {
    const service = await startWorkers(database.url, { ...STUCK, DRAIN_TIMEOUT_MS: '0' });
    const clients = await beginOnAll(service);
    service.kill('SIGTERM');
    for (const client of clients) {
      while ((await client.next()).type !== 'response.failed');
      expect(await client.closed).toEqual(RESTARTING);
    }
    expect(await service.exited).toMatchObject({ code: 0, signal: null });
  });

  it('a shutdown of workers has exit code 1 when a worker does not end in order, and does not replace it', async () => {
    const service = await startWorkers(database.url, { ...STUCK, DRAIN_TIMEOUT_MS: FOR_EVER });
    const [killed, left] = await beginOnAll(service);
    service.kill('SIGTERM');
    while ((await service.client.send({ path: '/readyz' })).status !== 503) await pause();
    process.kill(service.workers()[0] as number, 'SIGKILL');
    expect(await killed?.closed).toMatchObject({ code: 1006 });
    // Nothing is left to wait for as soon as this one is gone.
    left?.socket.terminate();
    expect(await service.exited).toMatchObject({ code: 1, signal: null });
    expectNoOthers(service);
  });

  it('a shutdown of workers kills a worker that hangs, when its time is up, and says so', async () => {
    const service = await startWorkers(database.url, { DRAIN_TIMEOUT_MS: '0', SHUTDOWN_MARGIN_MS: '300' });
    const [hanging] = service.workers() as [number];
    process.kill(hanging, 'SIGSTOP');
    service.kill('SIGTERM');
    const { code, signal, stdout, stderr } = await service.exited;
    expect({ code, signal }).toEqual({ code: 1, signal: null });
    expect(stdout + stderr).toContain(`worker ${hanging} did not exit within 1300 ms: killing it`);
    expect(stdout).not.toContain('Goodbye');
    expectNoOthers(service);
  });

  it('a shutdown of workers comes in order when the process that looks after the workers is killed', async () => {
    const service = await startWorkers(database.url, SLOW);
    const clients = await beginOnAll(service);
    service.kill('SIGKILL');
    await expectFinished(clients);
    expect(await service.exited).toMatchObject({ code: null, signal: 'SIGKILL' });
    expectNoOthers(service);
  });
});
