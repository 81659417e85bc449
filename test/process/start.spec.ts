// Slow: starts the built service as processes.

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { freePort } from '../support/ports.js';
import { endProcesses, type Exit, runToEnd, type ServiceProcess, startProcess } from '../support/process-service.js';

const STACK = /\n\s+at |node_modules|file:\/\//;

function expectRefusal(exit: Exit, lines: readonly RegExp[]): void {
  const written = exit.stderr.trimEnd().split('\n');
  expect({ code: exit.code, signal: exit.signal }).toEqual({ code: 1, signal: null });
  expect(exit.stderr + exit.stdout).not.toMatch(STACK);
  expect(exit.stdout).not.toContain('listens on');
  expect(written).toEqual(lines.map((line) => expect.stringMatching(line)));
}

function expectLatency(output: string, latency: string): void {
  expect(output.split('\n').filter((text) => text.includes('Latency: '))).toEqual([
    expect.stringMatching(new RegExp(`${RegExp.escape(`Latency: ${latency}`)}$`)),
  ]);
}

describe('a start without any configuration', () => {
  let service: ServiceProcess;

  beforeAll(async () => {
    service = await startProcess();
    await service.written(/^Try: .*\n/m);
  });
  afterAll(endProcesses);

  it('the service listens on the loopback interface and answers the SDK', async () => {
    const { origin } = service;
    expect(new URL(origin).hostname).toBe('127.0.0.1');
    const client = new OpenAI({ apiKey: 'none', baseURL: `${origin}/v1`, maxRetries: 0 });
    const introduction = await client.responses.create({ model: 'gpt-5', input: 'Hello' });
    expect(introduction.output_text).toMatch(/^Hello! I am the simulator .*\(PROVIDERS_FILE\)/);
    const response = await client.responses.create({ model: 'gpt-5', input: 'Hello' });
    expect(response.output_text).not.toContain('simulator');
    expect(response.status).toBe('completed');
    expect(response.output_text).not.toBe('');
    const final = await client.responses.stream({ model: 'gpt-5', input: 'Hello' }).finalResponse();
    expect(final.output_text).toBe(response.output_text);
  });

  it('the service says where it listens, what answers, where state is and what to try', async () => {
    const { origin, output } = service;
    const lines = output().split('\n');
    expect(lines.slice(lines.indexOf(`Antiphon listens on ${origin}`)).slice(0, 5)).toEqual([
      `Antiphon listens on ${origin}`,
      'Models: the simulator (output is synthetic)',
      'Latency: instant (no waiting: measures the service, not a model); background turns: 500/20',
      'State: memory (lost when this process ends)',
      `Try: curl ${origin}/v1/responses -H 'content-type: application/json' -d '{"model": "gpt-5", "input": "Hello!"}'`,
    ]);
  });

  it('the service names the latency of the simulator: instant', () => {
    expectLatency(
      service.output(),
      'instant (no waiting: measures the service, not a model); background turns: 500/20',
    );
  });

  it('the service warns that it is open', () => {
    expect(service.output()).toContain('no API_KEYS: the service is open, and only this machine can use it');
  });
});

describe('a start with the simulator', () => {
  afterEach(endProcesses);

  it('a start with the simulator names another latency, and does not load what fetch and WebSocket of Node are made of', async () => {
    const say = `process.once('exit', () => console.log('loaded: ' + process.moduleLoadList.filter((name) => /undici|zlib$/.test(name))))`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(say)}`;
    const { kill, exited } = await startProcess({
      ...{ NODE_OPTIONS, SIMULATOR_LATENCY: 'realistic', SIMULATOR_SPEED: '2' },
    });
    kill('SIGTERM');
    const { stdout } = await exited;
    expect(stdout).toMatch(/^loaded: .*zlib/m);
    expect(stdout).not.toMatch(/^loaded: .*undici/m);
    expectLatency(stdout, 'realistic; background turns: 500/20; speed: 2');
  });

  it('a start takes modules of Node as they were compiled with it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-look-'));
    const look = join(folder, 'look.cjs');
    // Which they are, Node says only to its own tests. It loads some of its inner ones when they are used first; `http` is small.
    const say = `const { internalBinding } = require('internal/test/binding');
      const list = () => [...internalBinding('builtins').getCacheUsage().compiledWithoutCache];
      const say = () => console.log('compiled again: ' + list().filter((name) => !/^(?:internal\\/|http$)/.test(name)));
      process.once('exit', say);`;
    await writeFile(look, say);
    const wrapper = ['/bin/sh', '-c', `exec "$0" --no-warnings --expose-internals --require '${look}' "$@"`];
    const { kill, exited } = await startProcess({}, [], { wrapper });
    kill('SIGTERM');
    expect((await exited).stdout).toMatch(/^compiled again: $/m);
    await rm(folder, { recursive: true });
  });

  it('a start with the simulator names a latency of its own, and scripted models, with a request that one of them answers', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-start-'));
    const script = "model: weather\nmatch: last_user_message\nturns:\n  - { when: it's raining, text: Take a coat. }\n";
    const paths = [join(folder, 'weather.yaml'), join(folder, 'other.yaml')];
    for (const [index, path] of paths.entries()) await writeFile(path, index === 0 ? script : 'turns: [{ text: Hi }]');
    const { client, exited, kill, output } = await startProcess({
      ...{ SIMULATOR_SCRIPTS: paths.join(','), SIMULATOR_LATENCY: '10/1/0' },
    });
    expect(output()).toContain('Models: the simulator (output is synthetic), with scripts for weather, other\n');
    const [, body = ''] = /^Try: curl \S+\/v1\/responses .* -d '(\{.*\})'$/m.exec(output()) ?? [];
    const asked = body.replaceAll(String.raw`'\''`, "'");
    expect(JSON.parse(asked)).toEqual({ model: 'weather', input: "it's raining" });
    expect(JSON.parse((await client.post(asked)).text)).toMatchObject({
      output: [{ content: [{ text: 'Take a coat.' }] }],
    });
    kill('SIGTERM');
    expectLatency((await exited).stdout, '10/1/0; background turns: 500/20');
    await rm(folder, { recursive: true });
  });
});

describe('a start that cannot be', () => {
  afterEach(endProcesses);

  it('a start says in one clear line that the port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const exit = await runToEnd({ PORT: String(port) });
    expectRefusal(exit, [new RegExp(`in use.*${port}\\. Choose another port with --port \\(PORT\\)`)]);
    expect(exit.stdout).toBe('');
    const metrics = await runToEnd({ PORT: '0', METRICS_PORT: String(port) });
    expectRefusal(metrics, [new RegExp(`^METRICS_PORT: .*in use.*${port}\\.$`)]);
    taken.close();
  });

  it('a start says in one clear line that the address is not of this machine', async () => {
    const exit = await runToEnd({ PORT: '0', HOST: '192.0.2.1', ALLOW_OPEN: 'true', LOG_LEVEL: 'fatal' });
    expectRefusal(exit, [/192\.0\.2\.1/]);
  });

  it('a start names a bad variable in one line', async () => {
    expectRefusal(await runToEnd({ PORT: 'eighty' }), [/^PORT: expected a whole number, but got 'eighty'\.$/]);
  });

  it('a start names every bad variable in a line of its own', async () => {
    const exit = await runToEnd({ PORT: '-1', LOG_LEVEL: 'loud', ALLOW_OPEN: 'maybe', SIMULATOR_SEED: '1e6' });
    expectRefusal(exit, [/^PORT: /, /^ALLOW_OPEN: /, /^LOG_LEVEL: /, /^SIMULATOR_SEED: /]);
  });

  it('a start listens nowhere when a variable is bad', async () => {
    const port = await freePort();
    const exit = await runToEnd({ PORT: String(port), LOG_FORMAT: 'xml' });
    expectRefusal(exit, [/^LOG_FORMAT: expected one of text, json, but got 'xml'\.$/]);
    const socket = connect(port, '127.0.0.1');
    await expect(once(socket, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('a start refuses a public address without keys', async () => {
    expectRefusal(await runToEnd({ PORT: '0', HOST: '0.0.0.0' }), [
      /^HOST: '0\.0\.0\.0' is public.*API_KEYS.*ALLOW_OPEN/,
    ]);
  });
});

describe('a variable that nothing reads', () => {
  afterEach(endProcesses);

  it('a variable that nothing reads is named with what is meant, never with its value', async () => {
    const { exited, kill } = await startProcess({ LOG_LEVL: 'secret-level', API_KEY: 'secret-key' });
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    const output = stdout + stderr;
    expect(output).toContain('LOG_LEVL has no effect: there is no such variable. Did you mean LOG_LEVEL?');
    expect(output).toContain('API_KEY has no effect: there is no such variable. Did you mean API_KEYS?');
    expect(output).not.toContain('secret-');
  });

  it('a variable that nothing reads is named where the start fails for want of it', async () => {
    const exit = await runToEnd({ PORT: '0', HOST: '0.0.0.0', API_KEY: 'tenant:secret-key' });
    expectRefusal(exit, [/^HOST: /, /^API_KEY has no effect: .* Did you mean API_KEYS\?$/]);
    expect(exit.stderr).not.toContain('secret-');
  });
});

describe('a public address', () => {
  afterEach(endProcesses);

  it('a public address may be open when the operator says so', async () => {
    const { client, exited, kill } = await startProcess({ HOST: '0.0.0.0', ALLOW_OPEN: 'true' });
    const answer = await client.post('{"model":"gpt-4.1","input":"Hi"}', { host: 'antiphon.example.com' });
    expect(answer.status).toBe(200);
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    expect(stdout + stderr).toContain('any client that reaches the port can use it');
  });

  it('a public address is the default where there are keys', async () => {
    const { client } = await startProcess({ API_KEYS: 'tenant:key' });
    const answer = await client.post('{"model":"gpt-4.1","input":"Hi"}', { authorization: 'Bearer key' });
    expect(answer.status).toBe(200);
  });
});

describe('what a run writes', () => {
  afterEach(endProcesses);

  const KEYS = ['plain-secret-1f2e', 'other-secret-3d4c'];

  it.each(['verbose', 'log'])('the output of a run never holds a key at LOG_LEVEL=%s', async (LOG_LEVEL) => {
    const API_KEYS = KEYS.map((key, index) => `tenant${index}:${key}`).join(',');
    const { client, exited, kill } = await startProcess({ API_KEYS, LOG_LEVEL, LOG_FORMAT: 'json' });
    for (const key of KEYS) {
      const right = await client.post('{"model":"gpt-4.1","input":"Hi"}', { authorization: `Bearer ${key}` });
      expect(right.status).toBe(200);
      const wrong = await client.post('{}', { authorization: `Bearer ${key}wrong` });
      expect(wrong.status).toBe(401);
      const broken = await client.post('{"model":', { authorization: `Bearer ${key}` });
      expect(broken.status).toBe(400);
      for (const answer of [right, wrong, broken]) expect(JSON.stringify(answer)).not.toContain(key);
    }
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    expect(stdout).toContain('listens on');
    for (const key of KEYS) expect(stdout + stderr).not.toContain(key);
  });

  it('the output of a run never holds a key that is refused at the start', async () => {
    const exit = await runToEnd({ API_KEYS: `tenant:sha256:${KEYS[0] ?? ''},${KEYS[1] ?? ''}` });
    expectRefusal(exit, [/^API_KEYS: entry 1 /]);
    for (const key of KEYS) expect(exit.stderr + exit.stdout).not.toContain(key);
  });
});
