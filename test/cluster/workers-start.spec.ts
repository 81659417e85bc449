// Slow: starts the built service as several processes, and ends them.

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { beginProcess, endProcesses, type Exit, runToEnd, startProcess } from '../support/process-service.js';
import { TcpProxy } from '../support/tcp-proxy.js';

type Variables = Readonly<Record<string, string>>;

let database: TestDatabase;
let workers: Variables;

beforeEach(async () => {
  database = await createTestDatabase();
  workers = { WORKERS: '2', STATE: 'postgres', DATABASE_URL: database.url };
});

afterEach(async () => {
  await endProcesses();
  await database.drop();
});

describe('a start with several workers', () => {
  it('a start with several workers migrates once, and says once where they listen, when all do', async () => {
    await using empty = await createEmptyDatabase();
    const { port, exited, kill } = await startProcess({ ...workers, DATABASE_URL: empty.url });
    kill('SIGTERM');
    const { stdout } = await exited;
    expect(stdout.match(/applied \d+ migrations/g)).toHaveLength(1);
    expect(stdout).not.toMatch(/Nest application|dependencies initialized|Mapped \{/);
    const lines = stdout.split('\n').filter((line) => line.includes('listens'));
    expect(lines).toEqual([
      ...Array.from({ length: 2 }, () => expect.stringMatching(/worker \d+ listens$/) as unknown),
      `Antiphon listens on http://127.0.0.1:${port} with 2 workers`,
    ]);
  });

  it('a start with several workers hands its arguments on to all of them, and says in JSON where they listen', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port: PORT } = taken.address() as AddressInfo;
    const variables = { ...workers, PORT: String(PORT), LOG_FORMAT: 'json' };
    const { port, client, exited, kill } = await startProcess(variables, ['--port', '0']);
    expect(port).not.toBe(PORT);
    expect(await client.send({ path: '/healthz' })).toMatchObject({ status: 200 });
    kill('SIGTERM');
    const { stdout } = await exited;
    taken.close();
    const messages = stdout.split('\n').flatMap((line) => {
      return line === '' ? [] : [(JSON.parse(line) as { readonly message: unknown }).message];
    });
    expect(messages).toContain(`Antiphon listens on http://127.0.0.1:${port} with 2 workers`);
  });

  it('a start with several workers replaces a worker that dies meanwhile', async () => {
    await using proxy = await TcpProxy.open(Number(new URL(database.url).port));
    proxy.stall();
    const DATABASE_URL = Object.assign(new URL(database.url), { hostname: '127.0.0.1', port: String(proxy.port) }).href;
    const service = beginProcess({
      ...workers,
      DATABASE_URL,
      DATABASE_CONNECT_TIMEOUT_MS: '600000',
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'debug',
    });
    // It cannot get any further than to its database.
    process.kill(Number(await service.written(/"pid":(\d+),[^\n]*Starting Nest application/)), 'SIGKILL');
    await service.written(/worker \d+ exited \(SIGKILL\); restarting in \d+ ms/);
    await proxy.restore();
    await service.written(/Antiphon listens on \S+ with 2 workers/);
    service.kill('SIGTERM');
    expect(await service.exited).toMatchObject({ code: 0, signal: null });
  });
});

describe('a start that cannot be', () => {
  /** One sentence for the operator, however many workers there were to be. */
  function expectRefusal({ code, signal, stdout, stderr }: Exit, line: RegExp): void {
    expect({ code, signal }).toEqual({ code: 1, signal: null });
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(line)]);
    expect(stdout).not.toContain('listens');
  }

  function run(variables: Variables): Promise<Exit> {
    return runToEnd({ ...workers, PORT: '0', LOG_LEVEL: 'fatal', ...variables });
  }

  it('a start with several workers says once that the password is wrong', async () => {
    const url = Object.assign(new URL(database.url), { password: 'secret-1f2e' }).href;
    const exit = await run({ DATABASE_URL: url });
    expectRefusal(exit, /^DATABASE_URL: .*password authentication failed/);
    expect(exit.stdout + exit.stderr).not.toContain('secret-1f2e');
  });

  it('a start with several workers says once that the port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    expectRefusal(await run({ PORT: String(port) }), new RegExp(`EADDRINUSE: address already in use .*${port}`));
    taken.close();
  });

  it('a start with several workers says once that the address is not of this machine', async () => {
    expectRefusal(await run({ HOST: '192.0.2.1', ALLOW_OPEN: 'true' }), /EADDRNOTAVAIL: .* 192\.0\.2\.1/);
  });

  it('a start with several workers says once that a file cannot be used', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-workers-'));
    const PROVIDERS_FILE = join(folder, 'providers.json');
    await writeFile(PROVIDERS_FILE, '{"models":[{"name":"m","provider":"nobody"}]}');
    const exit = await run({ PROVIDERS_FILE });
    await rm(folder, { recursive: true });
    expectRefusal(exit, /^PROVIDERS_FILE: .*models\[0\] names an unknown provider/);
  });

  it('a start with several workers says once that a variable is wrong', async () => {
    expectRefusal(await run({ MAX_RUNNING_TURNS: 'many' }), /^MAX_RUNNING_TURNS: expected a whole number/);
  });

  it('a start with workers does not begin without a database', async () => {
    expectRefusal(await run({ STATE: 'memory' }), /^WORKERS: .*STATE=postgres.*previous_response_id would fail/);
  });
});
