// Slow: starts the built service as processes.

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, describe, expect, it } from '@jest/globals';

import { pause } from '../support/pause.js';
import { endProcesses, type Exit, startProcess, startProgram } from '../support/process-service.js';

/** An answer of a second or so. */
const SLOW = { SIMULATOR_LATENCY: '0/30' };
/** The model says one word, and then nothing for the rest of the test. */
const STUCK = { SIMULATOR_LATENCY: '0/60000' };
/** Longer than any test may take: what waits for it never ends by itself. */
const FOR_EVER = '600000';

let sockets: Socket[] = [];

async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

function expectOrderlyEnd({ code, signal, stderr }: Exit): void {
  expect({ code, signal }).toEqual({ code: 0, signal: null });
  expect(stderr).not.toMatch(/\n\s+at /);
}

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await endProcesses();
});

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('a signal ends an idle service with exit code 0, which says goodbye once', async () => {
    const { exited, kill } = await startProcess();
    kill(signal);
    kill(signal);
    const exit = await exited;
    expectOrderlyEnd(exit);
    expect(exit.stdout.match(/stopped/g)).toHaveLength(1);
    expect(exit.stdout).toMatch(/\nAntiphon has stopped\. Goodbye\.\n$/);
  });

  it('a signal ends the service once when it comes twice', async () => {
    const { exited, kill } = await startProcess({ SHUTDOWN_DELAY_MS: '200' });
    kill(signal);
    kill(signal);
    kill('SIGTERM');
    expectOrderlyEnd(await exited);
  });

  it('a signal lets a running stream finish', async () => {
    const { client, exited, kill } = await startProcess({ ...SLOW, DRAIN_TIMEOUT_MS: FOR_EVER });
    const stream = await client.stream({});
    await stream.until('response.output_text.delta');
    kill(signal);
    const text = await stream.whole;
    expect(text).toMatch(/event: response\.completed\ndata: .*"status":"completed".*\n\ndata: \[DONE\]\n\n$/);
    expectOrderlyEnd(await exited);
  });
});

describe('Ctrl+C', () => {
  it('Ctrl+C stops at once when it is pressed again, as its line says', async () => {
    const { client, exited, kill, written } = await startProcess({ ...STUCK, DRAIN_TIMEOUT_MS: FOR_EVER });
    const stream = await client.stream({});
    await stream.until('response.created');
    kill('SIGINT');
    await written(/stopping: running turns may take up to 600 s to end; Ctrl\+C again stops now/);
    // Presses within a moment count once, however long this machine takes for them.
    const pressing = setInterval(() => kill('SIGINT'), 100);
    const { code, signal, stdout, stderr } = await exited.finally(() => clearInterval(pressing));
    // The last press may come when the process no longer handles it.
    expect([130, 'SIGINT']).toContain(signal ?? code);
    expect(stdout + stderr).toContain('stopping now: running turns are cut off');
    expect(stdout.match(/stopping: /g)).toHaveLength(1);
  });
});

describe('a shutdown while a stream is running', () => {
  it('a shutdown fails the stream when it outlives DRAIN_TIMEOUT_MS, and does not wait for a client that reads nothing', async () => {
    const { port, client, exited, kill } = await startProcess({ ...STUCK, DRAIN_TIMEOUT_MS: '300' });
    const socket = await openSocket(port);
    const body = '{"model":"gpt-4.1","input":"Hi","stream":true}';
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
    await once(socket, 'readable');
    const stream = await client.stream({});
    await stream.until('response.created');
    kill('SIGTERM');
    const text = await stream.whole;
    expect(text).toMatch(/event: response\.failed\ndata: .*\n\ndata: \[DONE\]\n\n$/);
    const terminal: unknown = JSON.parse(/event: response\.failed\ndata: (.*)/.exec(text)?.[1] ?? '');
    expect(terminal).toMatchObject({
      response: {
        status: 'failed',
        error: { code: 'server_error', message: expect.stringContaining('shutting down') },
      },
    });
    expectOrderlyEnd(await exited);
  });
});

describe('a program whose hook hangs', () => {
  it.each(['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'])(
    'a program whose hook hangs ends when its time is up: %s',
    async (hook) => {
      const folder = await mkdtemp(join(tmpdir(), 'antiphon-hook-'));
      const path = join(folder, 'program.mjs');
      await writeFile(
        path,
        `import { createApp, SimulatorModule } from ${JSON.stringify(new URL('../../lib/index.js', import.meta.url))};
         const hanging = { provide: 'hanging', useValue: { ${hook}: () => new Promise(() => setInterval(() => undefined, 1000)) } };
         const module = { module: class Program {}, providers: [hanging] };
         const app = await createApp({ imports: [SimulatorModule.asFallback(), module] });
         await app.listen(0, '127.0.0.1');
         console.log('listens on ' + (await app.getUrl()));`,
      );
      const { exited, kill } = await startProgram(path, /listens on (\S+)/, {
        DRAIN_TIMEOUT_MS: '0',
        SHUTDOWN_MARGIN_MS: '300',
      });
      kill('SIGTERM');
      const { code, signal, stderr } = await exited;
      await rm(folder, { recursive: true });
      expect({ code, signal }).toEqual({ code: 1, signal: null });
      expect(stderr).toMatch(/the shutdown takes longer than 300 ms: ending the process/);
    },
  );
});

/** Whether another process executes a statement that writes. */
function isBeingWritten(path: string): boolean {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('BEGIN IMMEDIATE; ROLLBACK');
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}

describe('a statement of SQLite that takes for ever', () => {
  it('a service whose database executes a statement for ever is killed when its time is up', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-slow-'));
    const state = { STATE: 'sqlite', STATE_DIR: directory };
    const first = await startProcess(state);
    first.kill('SIGTERM');
    expectOrderlyEnd(await first.exited);
    const path = join(directory, 'antiphon.sqlite');
    const database = new DatabaseSync(path);
    database.exec(`CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n;
      CREATE TRIGGER slow AFTER INSERT ON responses BEGIN SELECT * FROM endless; END`);
    database.close();

    const { client, exited, kill } = await startProcess({ ...state, DRAIN_TIMEOUT_MS: '0', SHUTDOWN_MARGIN_MS: '300' });
    const stream = await client.stream({});
    await stream.until('response.output_text.done');
    while (!isBeingWritten(path)) await pause();
    kill('SIGTERM');
    const { code, signal, stderr } = await exited;
    await rm(directory, { recursive: true });
    expect({ code, signal }).toEqual({ code: null, signal: 'SIGKILL' });
    expect(stderr).toMatch(/the shutdown takes longer than 300 ms: ending the process/);
  });
});

describe('connections that nobody uses', () => {
  it('unused connections do not hold the exit, kept alive or opened in advance', async () => {
    const { port, client, exited, kill } = await startProcess();
    await client.send({ path: '/healthz' });
    await openSocket(port);
    const halfHead = await openSocket(port);
    halfHead.write('POST /v1/responses HTTP/1.1\r\nhost: loc');
    const halfBody = await openSocket(port);
    halfBody.write('POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n');
    halfBody.write('content-length: 1000\r\n\r\n{"model":');
    await client.send({ path: '/healthz' });
    kill('SIGTERM');
    expectOrderlyEnd(await exited);
  });

  it('unused connections do not hold the exit when the client opens them again as soon as they close', async () => {
    const { port, exited, kill } = await startProcess();
    const reopen = (): void => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      sockets.push(socket);
      socket.once('connect', () => socket.once('close', reopen));
    };
    for (let count = 0; count < 16; count += 1) reopen();
    await openSocket(port);
    kill('SIGTERM');
    expectOrderlyEnd(await exited);
  });
});

describe('a client that dies', () => {
  it('a client that dies leaves the service serving', async () => {
    const { client, exited, kill } = await startProcess(SLOW);
    for (let count = 0; count < 5; count += 1) {
      const stream = await client.stream({});
      await stream.until('response.output_text.delta');
      stream.vanish();
    }
    const answer = await client.post('{"model":"gpt-4.1","input":"Hi","max_output_tokens":16}');
    expect(answer.status).toBe(200);
    kill('SIGTERM');
    // Nothing is running any more, or this would take DRAIN_TIMEOUT_MS.
    expectOrderlyEnd(await exited);
  });
});
