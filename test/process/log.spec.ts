// Slow: starts the built service as processes.

import { afterEach, describe, expect, it } from '@jest/globals';
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import OpenAI from 'openai';

import { loadEnvironment } from '../../src/config/index.js';
import { blocksOf } from '../docs/pages.js';
import { freePort } from '../support/ports.js';
import { pause } from '../support/pause.js';
import { endProcesses, type ProcessVariables, runToEnd, startProcess } from '../support/process-service.js';
import { SocketClient } from '../support/socket-client.js';

const BIDI = '\u202e';
/** What a client may call a model to have its own line in the log. */
const FORGERY = `m\n[Antiphon] 1  - LOG forged\r\u001b[2K\u2028${BIDI}`;

/** PostgreSQL, with nobody there. */
const AWAY = { STATE: 'postgres', DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' };

interface Line extends Readonly<Record<string, unknown>> {
  readonly level: string;
  readonly context: string;
  readonly message: string;
}

/** The schema of lines in JSON, as the documentation has it. */
const ajv = new Ajv2020({ allowUnionTypes: true });
addFormats.default(ajv);
const [SCHEMA] = blocksOf('docs/operations.md').filter(({ info }) => info === 'json schema');
const isLine = ajv.compile(JSON.parse(SCHEMA?.code ?? 'null') as object);

/** Lines in JSON. */
function parseLines(output: string): readonly Line[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** All that a process wrote, which must be lines of the documented schema. */
function linesOf(output: string): readonly Line[] {
  const lines = parseLines(output);
  for (const line of lines) {
    expect({ line, faults: isLine(line) ? null : isLine.errors }).toEqual({ line, faults: null });
  }
  return lines;
}

afterEach(endProcesses);

describe('the log', () => {
  it.each(['text', 'json'])('the log cannot be forged by a client, as %s', async (LOG_FORMAT) => {
    const { client, written, exited, kill } = await startProcess({ LOG_FORMAT, LOG_LEVEL: 'debug' });
    const answer = await client.post(JSON.stringify({ model: FORGERY, input: 'Hi' }));
    const { id } = JSON.parse(answer.text) as { readonly id: string };
    await written(new RegExp(id));
    await client.post(JSON.stringify({ model: 'm', input: 'Hi', [FORGERY]: 1, text: { format: { type: FORGERY } } }));
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    const lines = (stdout + stderr).split('\n');
    const ofTurn = lines.filter((line) => line.includes(id));
    expect(ofTurn).toHaveLength(1);
    expect(lines.filter((line) => line.includes('forged') && !/^(?:\[Nest\] \d+ |\{"level")/.test(line))).toEqual([]);
    if (LOG_FORMAT === 'text') {
      expect(ofTurn[0]).toMatch(/completed .*model="m\\+n\[Antiphon\] 1 {2}- LOG forged\\+r\\+u001b/);
    } else {
      const [line] = linesOf(stdout + stderr).filter((each) => each['response_id'] === id);
      expect(line).toMatchObject({ level: 'debug', context: 'Turn', status: 'completed', model: FORGERY });
      expect(line?.message).toMatch(/^resp_\S+ completed tenant="anybody" .* model="m\\n\[Antiphon\]/);
    }
    expect(stdout + stderr).not.toMatch(/[\r\u001b\u2028\u202e]/);
  });

  it('the log counts a flood of refusals instead of writing it', async () => {
    const { client, written, output } = await startProcess();
    const answers = await Promise.all(Array.from({ length: 400 }, () => client.send({ path: '/v1/nothing' })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
    const writtenSoFar = (): number => output().match(/ 404 unknown_url /g)?.length ?? 0;
    const leftOut = (): number =>
      [...output().matchAll(/(\d+) more within a second/g)].reduce((sum, [, count]) => sum + Number(count), 0);
    await written(() => writtenSoFar() + leftOut() >= 400);
    expect(writtenSoFar() + leftOut()).toBe(400);
    expect(leftOut()).toBeGreaterThan(0);
  });

  it('the log says once that the database is away, however many requests fail', async () => {
    const port = await freePort();
    const environment = { STATE: 'postgres', DATABASE_URL: `postgres://nobody:secret@127.0.0.1:${port}/none` };
    const { client, exited, kill } = await startProcess(environment);
    for (let count = 0; count < 50; count += 1) {
      expect(await client.send({ path: `/v1/responses/resp_${count}` })).toMatchObject({ status: 503 });
      expect(await client.post('{"model":"gpt-5","input":"Hi"}')).toMatchObject({ status: 503 });
    }
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    const lines = (stdout + stderr).split('\n').filter((line) => /request \S+ failed/.test(line));
    // One of reads, one of turns.
    expect(lines.length).toBeGreaterThanOrEqual(1);
    expect(lines.length).toBeLessThanOrEqual(4);
    expect(stdout + stderr).not.toMatch(/\n\s+at |secret| 503 /);
  });

  it('the log has a level for each part with LOG_LEVELS, and is silent about the assembly of the application', async () => {
    const { client, written, exited, kill } = await startProcess({ LOG_LEVELS: 'Turn=debug, Refused=warn' });
    await client.send({ path: '/v1/nothing' });
    const answer = await client.post(JSON.stringify({ model: 'gpt-5', input: 'Hi' }));
    const { id } = JSON.parse(answer.text) as { readonly id: string };
    await written(new RegExp(`DEBUG .*\\[Turn\\] ${id} completed`));
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    expect(stderr).toBe('');
    expect(stdout).not.toMatch(
      /unknown_url|InstanceLoader|Nest application|dependencies initialized|Mapped \{|RoutesResolver/,
    );
  });

  it('the log has members for a refusal in JSON', async () => {
    const { client, written, exited, kill } = await startProcess({ LOG_FORMAT: 'json' });
    await client.send({ path: '/v1/nothing?secret=1', headers: { 'x-request-id': 'mine' } });
    await written(/unknown_url/);
    kill('SIGTERM');
    const line = linesOf((await exited).stdout).find(({ context }) => context === 'Refused');
    expect(line).toEqual({
      ...{ level: 'info', time: expect.any(String), pid: expect.any(Number), context: 'Refused' },
      message: 'GET "/v1/nothing" 404 unknown_url request=mine',
      ...{ refused: 'GET "/v1/nothing"', status: 404, code: 'unknown_url', param: null, request_id: 'mine' },
    });
  });

  it.each<readonly [what: string, variables: ProcessVariables, message: RegExp]>([
    ['a wrong variable', { PORT: 'any' }, /^PORT: expected a whole number/],
    ['what stops all workers', { ...AWAY, WORKERS: '2', KEYS_FILE: '/nowhere/keys.yaml' }, /^KEYS_FILE: .*ENOENT/],
  ])('the log says in JSON, and once, that it cannot start: %s', async (_, variables, message) => {
    const { code, stdout, stderr } = await runToEnd({ PORT: '0', ...variables, LOG_FORMAT: 'json', LOG_TIME: 'epoch' });
    const failures = parseLines(stdout + stderr).filter(({ level }) => level === 'error');
    expect({ code, failures }).toEqual({
      code: 1,
      failures: [
        {
          ...{ level: 'error', time: expect.any(Number), pid: expect.any(Number), context: 'Antiphon' },
          message: expect.stringMatching(message),
        },
      ],
    });
  });

  it('the log has a line in JSON for a crash and for a warning of Node', async () => {
    const broken = `process.once('SIGUSR2', () => {
      process.emitWarning('an old habit', 'DeprecationWarning');
      setImmediate(() => { throw Object.assign(new Error('broken'), { code: 'E_BROKEN' }); });
    })`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(broken)}`;
    const { exited, kill } = await startProcess({ LOG_FORMAT: 'json', NODE_OPTIONS });
    kill('SIGUSR2');
    const { code, stdout, stderr } = await exited;
    expect(code).toBe(1);
    expect(linesOf(stdout + stderr).slice(-2)).toEqual([
      expect.objectContaining({ level: 'warn', message: 'an old habit' }),
      expect.objectContaining({
        level: 'error',
        message: 'the process ends because of an error that nothing has caught',
        error: expect.objectContaining({ name: 'Error', message: 'broken', code: 'E_BROKEN' }),
      }),
    ]);
  });

  const needsLevels = 'LOG_LEVELS: expected part=level entries such as Turn=debug';

  it('the service does not start with LOG_LEVELS=Turn=loud', async () => {
    const { code, stderr } = await runToEnd({ LOG_LEVELS: 'Turn=loud' });
    expect(code).not.toBe(0);
    expect(stderr).toContain(needsLevels);
    expect(stderr).toContain("but got 'Turn=loud'");
  });

  it.each(['Turn', '=debug', 'Turn=debug=log'])('the service refuses LOG_LEVELS=%s', (levels) => {
    const load = (): unknown => loadEnvironment({ LOG_LEVELS: levels });
    expect(load).toThrow(needsLevels);
    expect(load).toThrow(`but got '${levels}'`);
  });

  it('the log has one line in JSON for every turn on every transport with LOG_TURNS=all, without content', async () => {
    const { port, origin, exited, kill } = await startProcess({
      ...{ LOG_FORMAT: 'json', LOG_TURNS: 'all', API_KEYS: 'red:key-of-red', SIMULATOR_GENERATOR: 'echo' },
      SIMULATOR_BACKGROUND_LATENCY: '0/0',
    });
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const headers = { authorization: 'Bearer key-of-red' };
    const client = new OpenAI({
      apiKey: 'key-of-red',
      baseURL: `${origin}/v1`,
      defaultHeaders: { traceparent: `00-${trace}-00f067aa0ba902b7-01` },
    });
    const body = { model: 'gpt-5', input: 'a-secret', instructions: 'a-secret' };
    const { id } = await client.responses.create(body);
    await client.responses.stream(body).finalResponse();
    const queued = await client.responses.create({ ...body, background: true });
    while ((await client.responses.retrieve(queued.id)).status !== 'completed') await pause();
    const socket = await SocketClient.open({ port }, { headers });
    socket.create(body);
    await socket.finish();
    socket.socket.terminate();
    kill('SIGTERM');
    const { stdout, stderr } = await exited;
    const turns = linesOf(stdout + stderr).filter(({ context }) => context === 'Turn');
    expect(turns.map(({ transport, background }) => [transport, background])).toEqual([
      ['json', false],
      ['sse', false],
      ['json', true],
      ['websocket', false],
    ]);
    expect(turns[0]).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      pid: expect.any(Number),
      context: 'Turn',
      message: expect.stringMatching(`^${id} completed tenant="red" `),
      response_id: id,
      status: 'completed',
      error_code: null,
      tenant: 'red',
      key_id: null,
      request_id: expect.stringMatching(/^req_/),
      connection_id: null,
      trace_id: trace,
      model: 'gpt-5',
      provider: 'simulator',
      door: 'responses',
      transport: 'json',
      background: false,
      input_tokens: expect.any(Number),
      output_tokens: expect.any(Number),
      first_event_ms: expect.any(Number),
      duration_ms: expect.any(Number),
    });
    expect(turns[3]).toMatchObject({ connection_id: expect.stringMatching(/^ws-/) as unknown });
    expect(stdout + stderr).not.toMatch(/a-secret|key-of-red/);
  });
});
