import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  AntiphonModule,
  Clock,
  configureApp,
  createAdapter,
  createApp,
  Environment,
  IdGenerator,
  StateBackend,
} from 'antiphon';
import { FakeClock, ScriptedProvider } from 'antiphon/testing';
import OpenAI from 'openai';
import { WebSocket } from 'ws';

import { AuditedBackend } from './audited-backend.js';
import { HelpCommand } from './help-command.js';
import { platform } from './platform.js';
import { RegionIds } from './region-ids.js';
import { StockModule } from './stock-tools.js';
import { TeamDirectory } from './tenants.js';
import { UsageMeter } from './usage-meter.js';
import { WeatherTool } from './weather-tool.js';
import { WordFilter } from './word-filter.js';

const RED = { apiKey: 'key-of-red' };
const BLUE = { apiKey: 'key-of-blue' };

let directory: string;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'platform-'));
  const file = join(directory, 'providers.yaml');
  await writeFile(file, 'providers:\n  parrot: { kind: echo, greeting: Hello }\n');
  environment = { STATE: 'audited', LOG_LEVEL: 'fatal', PROVIDERS_FILE: file };
});

afterAll(() => rm(directory, { recursive: true }));

/** The root module of an application that imports AntiphonModule. */
@Module({})
class ProgramModule {}

const forms: readonly (readonly [name: string, start: () => Promise<NestFastifyApplication>])[] = [
  ['createApp', () => createApp({ ...platform, environment })],
  ['AntiphonModule.forRoot', () => startWith(AntiphonModule.forRoot({ ...platform, environment }))],
  [
    'AntiphonModule.forRootAsync',
    () => startWith(AntiphonModule.forRootAsync({ ...platform, useEnvironment: () => Promise.resolve(environment) })),
  ],
];

async function startWith(antiphon: ReturnType<typeof AntiphonModule.forRoot>): Promise<NestFastifyApplication> {
  const program = { module: ProgramModule, imports: [antiphon] };
  return configureApp(await NestFactory.create(program, createAdapter(), { logger: false, abortOnError: false }));
}

describe.each(forms)('the platform, made by %s', (_, start) => {
  let app: NestFastifyApplication;
  let origin: string;
  const client = (options: { apiKey: string }): OpenAI =>
    new OpenAI({ baseURL: `${origin}/v1`, maxRetries: 0, ...options });
  const open = (apiKey: string): WebSocket =>
    new WebSocket(`${origin.replace('http', 'ws')}/v1/responses`, { headers: { authorization: `Bearer ${apiKey}` } });

  beforeEach(async () => {
    app = await start();
    await app.listen(0, '127.0.0.1');
    origin = await app.getUrl();
  });

  afterEach(() => app.close());

  it('the platform authenticates with its own asynchronous authenticator on every transport', async () => {
    const unknown = client({ apiKey: 'key-of-green' });
    await expect(unknown.models.list()).rejects.toThrow(OpenAI.AuthenticationError);
    const refused = open('key-of-green');
    const [, answer] = (await once(refused, 'unexpected-response')) as [unknown, { statusCode: number }];
    expect(answer.statusCode).toBe(401);
    refused.once('error', () => undefined).terminate();

    const response = await client(RED).responses.create({ model: 'parrot-1', input: 'mine' });
    await expect(client(BLUE).responses.retrieve(response.id)).rejects.toThrow(OpenAI.NotFoundError);
  });

  it('the platform authenticates again for every turn and event of a socket', async () => {
    const socket = open(RED.apiKey);
    await once(socket, 'open');
    app.get(TeamDirectory).remove(RED.apiKey);
    socket.send(JSON.stringify({ type: 'response.create', model: 'parrot-1', input: 'Hi' }));
    expect(await nextFrame(socket)).toMatchObject({ type: 'error', status: 401 });
    socket.send(JSON.stringify({ type: 'platform.usage' }));
    expect(await nextFrame(socket)).toMatchObject({ type: 'error', status: 401 });
    await closed(socket);
  });

  it('the platform enforces the budget of teams, and reports the remaining tokens', async () => {
    const asked = client(RED).responses.create({ model: 'parrot-1', input: 'x'.repeat(400), max_output_tokens: 200 });
    const { data, response } = await asked.withResponse();
    const used = data.usage?.total_tokens ?? 0;
    expect(used).toBeGreaterThan(0);
    expect(Number(response.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(1000 - 300);
    // The reservation was corrected: a turn may reserve all remaining tokens, but not one more.
    const whole = { model: 'parrot-1', input: 'x' };
    const { headers } = (
      await client(RED)
        .responses.create({ ...whole, max_output_tokens: 16 })
        .withResponse()
    ).response;
    const left = Number(headers.get('x-ratelimit-remaining-tokens'));
    expect(left).toBeGreaterThan(1000 - used - 100);
    const tooMuch = client(RED).responses.create({ ...whole, max_output_tokens: 1001 });
    await expect(tooMuch).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    await expect(client(BLUE).responses.create(whole)).resolves.toMatchObject({ status: 'completed' });
  });

  it('the platform notifies its observer of the beginning, the first event and the end of turns', async () => {
    const stream = client(RED).responses.stream({ model: 'parrot-1', input: 'Hi' });
    const { usage } = await stream.finalResponse();
    const meter = app.get(UsageMeter);
    expect(meter.log).toEqual(['red begins over sse', 'red is answered by parrot', 'red is completed']);
    expect(meter.tokensOf('red' as never)).toBe(usage?.total_tokens);
  });

  it('the platform handles an event of its own on a socket, and response.steer itself', async () => {
    const socket = open(BLUE.apiKey);
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'platform.usage' }));
    expect(await nextFrame(socket)).toEqual({ type: 'platform.usage', tokens: 0 });
    socket.send(JSON.stringify({ type: 'platform.usage', unit: 'miles' }));
    expect(await nextFrame(socket)).toMatchObject({ type: 'error', error: { param: 'unit' } });
    socket.send(JSON.stringify({ type: 'response.steer' }));
    expect(await nextFrame(socket)).toEqual({ type: 'platform.noted' });
    socket.send(JSON.stringify({ type: 'platform.unknown' }));
    expect(await nextFrame(socket)).toMatchObject({ type: 'error', error: { code: 'unknown_event_type' } });
    await closed(socket);
  });

  it('the platform adds a provider kind, which receives the forwarded headers', async () => {
    const asked = client(RED).responses.create(
      { model: 'parrot-1', input: [{ role: 'user', content: 'secret' }] },
      { headers: { 'x-team-trace': 'abc', 'x-other': 'def' } },
    );
    const { output_text: said } = await asked;
    expect(said).toContain('Hello: ');
    expect(said).toContain('(trace abc)');
    // The pass policy filters events before the response.
    expect(said).toContain('[removed]');
    expect(said).not.toContain('secret');
  });

  it('the platform makes ids, and saves responses in a backend of its own', async () => {
    expect(app.get(IdGenerator)).toBeInstanceOf(RegionIds);
    const response = await client(RED).responses.create({ model: 'parrot-1', input: 'Hi' });
    expect(response.id).toMatch(/^resp_e0/);
    await client(RED).responses.delete(response.id);
    const backend = app.get<AuditedBackend>(StateBackend, { strict: false });
    expect(backend).toBeInstanceOf(AuditedBackend);
    expect(backend.deletions).toEqual([response.id]);
  });
});

describe('the pass policies of the platform', () => {
  const station = createServer((request, response) => {
    void text(request).then((asked) => response.end(`secret sun for ${asked}`));
  });
  let app: NestFastifyApplication;

  beforeAll(async () => {
    await once(station.listen(0, '127.0.0.1'), 'listening');
    process.env['WEATHER_URL'] = `http://127.0.0.1:${(station.address() as AddressInfo).port}`;
    app = await createApp({
      environment: { LOG_LEVEL: 'fatal' },
      providers: [ScriptedProvider],
      passPolicies: [WordFilter, HelpCommand, WeatherTool],
      clock: { useValue: new FakeClock() },
    });
    await app.listen(0, '127.0.0.1');
  });

  afterAll(async () => {
    delete process.env['WEATHER_URL'];
    await app.close();
    station.close();
  });

  it('the pass policies of the platform answer the calls of a model, which goes on in the same response', async () => {
    const provider = app.get(ScriptedProvider);
    provider
      .reply(
        ...['Lisbon', 'Porto'].flatMap((city) => [
          { type: 'function_call', name: 'get_weather', key: city } as const,
          { type: 'function_call_arguments', delta: `{"city":"${city}"}`, key: city } as const,
        ]),
      )
      .reply({ type: 'text', delta: 'The secret: sunny in both.' });
    const client = new OpenAI({ apiKey: 'unused', baseURL: `${await app.getUrl()}/v1`, maxRetries: 0 });
    const stream = client.responses.stream({ model: 'm', input: 'How is the weather?' });
    const { output_text: said, output } = await stream.finalResponse();
    expect(said).toBe('The [removed]: sunny in both.');
    expect(output.map(({ type }) => type)).toEqual(['function_call', 'function_call', 'message']);
    expect(provider.turns[1]?.input).toMatchObject([
      { output: 'secret sun for {"city":"Lisbon"}' },
      { output: 'secret sun for {"city":"Porto"}' },
    ]);
  });

  it('the pass policies of the platform answer a command in place of the model', async () => {
    const provider = app.get(ScriptedProvider);
    const { length: asked } = provider.turns;
    const client = new OpenAI({ apiKey: 'unused', baseURL: `${await app.getUrl()}/v1`, maxRetries: 0 });
    const { output_text: said, usage } = await client.responses.create({ model: 'm', input: '/help' });
    expect(said).toBe('Ask me about the weather.');
    expect(usage).toMatchObject({ input_tokens: 0, output_tokens: 0 });
    expect(provider.turns).toHaveLength(asked);
  });

  it('the platform uses the given clock', async () => {
    const client = new OpenAI({ apiKey: 'unused', baseURL: `${await app.getUrl()}/v1`, maxRetries: 0 });
    app.get(ScriptedProvider).reply({ type: 'text', delta: 'now' });
    const { created_at: createdAt } = await client.responses.create({ model: 'm', input: 'When?' });
    expect(createdAt).toBe(app.get(Clock).nowInSeconds());
    expect(app.get(Environment).STATE).toBe('memory');
  });
});

describe('the tools of the platform', () => {
  let app: NestFastifyApplication;

  beforeAll(async () => {
    const environment = { LOG_LEVEL: 'fatal' };
    const injectedTools = [{ server: 'stock' }];
    app = await createApp({ environment, imports: [StockModule], injectedTools, providers: [ScriptedProvider] });
    await app.listen(0, '127.0.0.1');
  });

  afterAll(() => app.close());

  it('the tools of the platform are run by the service, and change something only once the user has agreed', async () => {
    const client = new OpenAI({ apiKey: 'unused', baseURL: `${await app.getUrl()}/v1`, maxRetries: 0 });
    const call = (name: string, args: object) =>
      [
        { type: 'function_call', name: `stock__${name}`, key: name },
        { type: 'function_call_arguments', delta: JSON.stringify(args), key: name },
      ] as const;
    app
      .get(ScriptedProvider)
      .reply(...call('look_up', { sku: 'A-1' }))
      .reply(...call('order', { sku: 'A-1', pieces: 2 }))
      .reply({ type: 'text', delta: 'They are yours.' });
    const first = await client.responses.create({ model: 'm', input: 'Two of A-1, please.' });
    expect(first.output).toMatchObject([
      { type: 'mcp_list_tools', server_label: 'stock' },
      { type: 'mcp_call', name: 'look_up', output: '3 pieces' },
      { type: 'mcp_approval_request', name: 'order', arguments: '{"sku":"A-1","pieces":2}' },
    ]);
    const approval = {
      type: 'mcp_approval_response',
      approval_request_id: first.output[2]?.id ?? '',
      approve: true,
    } as const;
    const second = await client.responses.create({ model: 'm', input: [approval], previous_response_id: first.id });
    expect(second.output).toMatchObject([{ type: 'mcp_call', output: 'Ordered for anybody.' }, { type: 'message' }]);
  });
});

async function nextFrame(socket: WebSocket): Promise<unknown> {
  const [data] = (await once(socket, 'message')) as [Buffer];
  return JSON.parse(data.toString());
}

async function closed(socket: WebSocket): Promise<void> {
  socket.close();
  await once(socket, 'close');
}
