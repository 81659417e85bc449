// Slow: starts the built service as processes.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { describeStartFailure } from '../../src/program/start-failure.js';
import { sha256 } from '../access/keys.js';
import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { beginProcess, endProcesses, runToEnd, type ServiceProcess, startProcess } from '../support/process-service.js';
import { startService } from '../support/service.js';
import { openStream, postJson } from '../support/sse.js';

const KEY = 'tz-top-secret-0123456789';
const AGAIN = /reloaded /;
const NOT_USED = /cannot reload /;

let folder: string;
let file: string;
let a: ChatUpstream;
let b: ChatUpstream;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antiphon-providers-'));
  file = join(folder, 'providers.json');
  a = (await ChatUpstream.start()).always({ text: 'a' });
  b = (await ChatUpstream.start()).always({ text: 'b' });
});

afterEach(async () => {
  await endProcesses();
  await Promise.all([a.close(), b.close()]);
  await rm(folder, { recursive: true });
});

/** Writes the file: both upstreams, with a key, and these models. */
async function write(models: readonly object[]): Promise<void> {
  const settings = { api_key: '${UPSTREAM_KEY}', headers: { 'x-key': KEY } };
  const providers = { a: { base_url: a.baseUrl, ...settings }, b: { base_url: b.baseUrl, ...settings } };
  await writeFile(file, JSON.stringify({ providers, models }));
}

const start = (variables: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> =>
  startProcess({ PROVIDERS_FILE: file, UPSTREAM_KEY: KEY, LOG_LEVEL: 'verbose', ...variables });

/** Who answers. */
async function by({ origin }: ServiceProcess, model = 'm'): Promise<unknown> {
  const { status, body } = await postJson(`${origin}/v1/responses`, { model, input: 'Hi' });
  return status === 200 ? (body as { readonly output_text: string }).output_text : status;
}

/** As often as that, in all that was written. */
const times = (count: number, pattern: RegExp): RegExp => new RegExp(`(?:${pattern.source}[^]*){${count}}`);

const toA = [{ name: 'm', provider: 'a' }];
const toB = [{ name: 'm', provider: 'b' }];

describe('SIGHUP', () => {
  it('SIGHUP has the file read again: for new turns, while a running one ends where it began', async () => {
    await write(toA);
    const service = await start();
    a.hold().answer({ text: ['One', ' two'] });
    a.release(2);
    const running = await openStream(`${service.origin}/v1/responses`, { model: 'm', input: 'Hi' });
    if (!running.streams) throw new Error('refused');
    for (let type = ''; type !== 'response.output_text.delta';) {
      const { done, value } = await running.events.next();
      if (done === true) throw new Error('the stream ended early');
      ({ type } = value);
    }
    await write(toB);
    service.kill('SIGHUP');
    await service.written(AGAIN);
    expect(await by(service)).toBe('b');
    a.release();
    const events = await Array.fromAsync(running.events);
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { output: [{ content: [{ text: 'One two' }] }] },
    });
  });

  it('SIGHUP may come twice at once, and does not keep the process from ending', async () => {
    await write(toA);
    const service = await start();
    await write(toB);
    service.kill('SIGHUP');
    service.kill('SIGHUP');
    await service.written(AGAIN);
    expect(await by(service)).toBe('b');
    await write(toA);
    // Signals of a kind that come at once may be one.
    service.kill('SIGHUP');
    await service.written(times(2, AGAIN));
    for (let name: unknown = 'b'; name !== 'a'; name = await by(service)) expect(name).toBe('b');
    service.kill('SIGHUP');
    await service.written(times(3, AGAIN));
    expect(await by(service)).toBe('a');
    service.kill('SIGTERM');
    expect(await service.exited).toMatchObject({ code: 0, signal: null });
  });

  it('SIGHUP with a file that cannot be used changes nothing, and says so without its texts', async () => {
    await write(toA);
    const service = await start();
    const faults = [
      `{"providers": {"a": {"api_key": "${KEY}`,
      `{"${KEY}": 1}`,
      `{"models":[{"name":"m","provider":"${KEY}"}]}`,
    ];
    for (const [index, text] of faults.entries()) {
      await writeFile(file, text);
      service.kill('SIGHUP');
      await service.written(times(index + 1, NOT_USED));
      expect(await by(service)).toBe('a');
    }
    await rm(file);
    service.kill('SIGHUP');
    await service.written(times(faults.length + 1, NOT_USED));
    expect(await by(service)).toBe('a');
    await write(toB);
    service.kill('SIGHUP');
    await service.written(AGAIN);
    expect(await by(service)).toBe('b');
    service.kill('SIGTERM');
    const { stdout, stderr, code } = await service.exited;
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(KEY);
    expect(stdout + stderr).not.toMatch(/\n\s+at /);
  });

  it.each([true, false])(
    'a file that changes while a service starts is read again, with SIGHUP: %s',
    async (hasSignal) => {
      // The service has the file open for as long as this test writes nothing.
      const path = join(folder, 'keys.yaml');
      await once(spawn('mkfifo', [path]), 'exit');
      const entry = (id: string): string => `  - { id: ${id}, tenant: t, secrets: [{ sha256: ${sha256(id)} }] }\n`;
      const { written, kill } = beginProcess({ KEYS_FILE: path });
      const first = await open(path, 'w');
      await writeFile(`${path}.new`, `keys:\n${entry('one')}${entry('two')}`);
      await rename(`${path}.new`, path);
      if (hasSignal) kill('SIGHUP');
      await first.writeFile(`keys:\n${entry('one')}`);
      await first.close();
      await written(/KEYS_FILE was read again \(keys: 2\)/);
    },
  );

  it('SIGHUP ends a process that has no file, as it always does', async () => {
    const { exited, kill } = await startProcess();
    kill('SIGHUP');
    expect(await exited).toMatchObject({ code: null, signal: 'SIGHUP' });
  });
});

describe('a file that cannot be used', () => {
  it.each<readonly [what: string, text: string, place: RegExp]>([
    ['is no YAML', `providers:\n  a:\n    api_key: "${KEY}\n`, /line \d+, column \d+/],
    ['has a tag that nobody knows', `providers: !${KEY}\n  a: !x ${KEY}\n`, /providers\.a/],
    ['has an unknown member', `providers:\n  a: { base_url: http://127.0.0.1/v1, ${KEY}: ${KEY} }\n`, /providers\.a/],
    [
      'refers to nothing',
      'providers:\n  a: { base_url: http://127.0.0.1/v1, api_key: "${UNSET}" }\n',
      /api_key.*UNSET/,
    ],
    ['has a provider of the program', `providers:\n  simulator: { base_url: "http://${KEY}/v1" }\n`, /simulator/],
  ])('a file that cannot be used stops the start with one line: it %s', async (_, text, place) => {
    await writeFile(file, text);
    const started: Promise<unknown> = startService({ environment: { PROVIDERS_FILE: file } });
    const line = describeStartFailure(await started.catch((error: unknown) => error));
    expect(line).toMatch(/^PROVIDERS_FILE: [^\n]+$/);
    expect(line).toMatch(place);
    expect(line).not.toContain(KEY);
  });

  it('a file that cannot be used stops the process with one line: it shows a secret', async () => {
    await writeFile(file, 'models:\n  - { name: m, provider: "${UPSTREAM_KEY}" }\n');
    const { code, stdout, stderr } = await runToEnd({ PORT: '0', PROVIDERS_FILE: file, UPSTREAM_KEY: KEY });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^PROVIDERS_FILE: [^\n]*models\[0\][^\n]*\n$/);
    expect(stdout + stderr).not.toContain(KEY);
    expect(stdout).not.toContain('listens on');
  });

  it('a file that cannot be used stops the process with one line: it is not there', async () => {
    const { code, stderr } = await runToEnd({ PORT: '0', PROVIDERS_FILE: file, LOG_LEVEL: 'fatal' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^PROVIDERS_FILE: [^\n]+\n$/);
  });
});

describe('what a run with a file writes', () => {
  it.each(['text', 'json'])(
    'the output of a run holds neither keys nor addresses at LOG_LEVEL=verbose, as %s',
    async (LOG_FORMAT) => {
      await write([
        { name: 'm', upstreams: [{ provider: 'a' }, { provider: 'b' }] },
        { name: 'a', provider: 'a' },
      ]);
      const service = await start({ LOG_FORMAT });
      await by(service);
      for (const status of [400, 401, 429]) {
        a.refuse(status);
        await by(service, 'a');
      }
      a.answer({ text: ['x', 'y'] }, { breaks: { after: 2, by: 'cut' } });
      await by(service, 'a');
      const { port } = a;
      await a.close();
      await by(service, 'a');
      service.kill('SIGHUP');
      await service.written(AGAIN);
      service.kill('SIGTERM');
      const { stdout, stderr } = await service.exited;
      expect(stdout + stderr).toContain('ECONNREFUSED');
      for (const secret of [KEY, `127.0.0.1:${port}`, `:${b.port}`]) expect(stdout + stderr).not.toContain(secret);
    },
  );
});

describe('a name that keeps a pattern busy', () => {
  // Each star may end anywhere: tried one after the other, that takes longer than anybody lives.
  const glob = `${'*a'.repeat(8)}*b`;

  it('a name that keeps a pattern busy does not hold up anybody', async () => {
    await write([{ glob, provider: 'a' }, { glob: '*'.repeat(20) + 'x', provider: 'b' }, ...toB]);
    const service = await start();
    expect(await by(service, 'a'.repeat(256))).toBe(404);
    expect(await by(service, `${'a'.repeat(255)}b`)).toBe('a');
    expect(await by(service)).toBe('b');
  });
});
