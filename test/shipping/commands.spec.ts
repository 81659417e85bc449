import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { answering, type Responder } from '../support/chat-upstream/chat-upstream.js';
import { startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { LocalServer } from '../support/local-server.js';
import { startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { type Service, startService } from '../support/service.js';
import { PROJECT } from '../support/shipped-files.js';

/** Starts a server in front of a service that changes what it answers: `change` gets the whole body of an answer. */
function misbehave(origin: string, change: (text: string) => string): Promise<LocalServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const { authorization = '', 'x-session-id': session } = request.headers;
    const headers = {
      authorization,
      'content-type': 'application/json',
      ...(session === undefined ? {} : { 'x-session-id': String(session) }),
    };
    const { method = 'GET', url = '/' } = request;
    const answered = await fetch(`${origin}${url}`, { method, headers, ...(body === '' ? {} : { body }) });
    const type = answered.headers.get('content-type') ?? '';
    response.writeHead(answered.status, { 'content-type': type }).end(change(await answered.text()));
  };
  return new LocalServer(createServer({ keepAliveTimeout: 0 }, (...exchange) => void answer(...exchange))).listen();
}

interface ChatBody {
  readonly tools?: readonly unknown[];
  readonly tool_choice?: unknown;
  readonly messages?: readonly { readonly role: string }[];
}

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the project to its end. */
function run(command: 'sessions' | 'compliance', ...args: readonly string[]): Promise<Run> {
  return new Promise((resolve) => {
    const path = join(PROJECT, 'scripts', command, 'main.ts');
    execFile(process.execPath, [path, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe('the commands', () => {
  const service = useService({
    environment: { API_KEYS: 'one:key-1,two:key-2', SIMULATOR_GENERATOR: 'echo' },
  });

  it('load:sessions finds no fault with sessions of two tenants at once', async () => {
    const { code, stdout, stderr } = await run(
      'sessions',
      service.baseURL,
      '--key',
      'key-1',
      '--key',
      'key-2',
      '--sessions',
      '50',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^50 sessions of 2 tenants, 3 turns each: \d+ turns\/s\n0 faults\n$/);
  });

  it('load:sessions fails when a tenant sees the responses of another one', async () => {
    // The same tenant twice: its second client is no stranger.
    const { code, stderr } = await run(
      'sessions',
      service.baseURL,
      '--key',
      'key-1',
      '--key',
      'key-1',
      '--sessions',
      '2',
    );
    expect(code).toBe(1);
    expect(stderr).toContain('another tenant gets 200');
  });

  it('load:sessions fails when a session is given the words of another one', async () => {
    await using server = await misbehave(service.origin, (text) => text.replaceAll('mark-000001-', 'mark-000000-'));
    const { code, stderr } = await run('sessions', server.baseUrl, '--key', 'key-1', '--sessions', '2', '--turns', '1');
    expect(code).toBe(1);
    expect(stderr).toContain('shows what another session said: mark-000000-');
  });

  it('compliance fails, and says where, with a server that leaves a member out', async () => {
    await using server = await misbehave(service.origin, (text) => text.replaceAll('"top_logprobs"', '"other"'));
    const { code, stdout } = await run('compliance', server.baseUrl, '--key', 'key-1');
    expect(code).toBe(1);
    expect(stdout).toMatch(/FAIL {2}basic-response .* response\.top_logprobs: expected an integer, but got nothing/);
    // Nor does it take sockets.
    expect(stdout).toMatch(/FAIL {2}websocket-continuation /);
    expect(stdout).toContain('2 of 17 passed');
  });

  it.each<[command: 'sessions' | 'compliance', args: readonly string[], message: RegExp]>([
    ['sessions', ['nowhere'], /^expected one URL, such as /],
    ['sessions', ['--sessions', '0'], /^--sessions: expected a whole number above 0, but got '0'\n$/],
    ['compliance', ['nowhere'], /^expected one URL, such as /],
  ])('%s %j is refused in one line', async (command, args, message) => {
    expect(await run(command, ...args)).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(message) });
  });
});

describe('the flows of the public compliance suite', () => {
  /** Calls the function of a question, and speaks otherwise. */
  const model: Responder = (request) => {
    const { tools, tool_choice, messages = [] } = request.body as ChatBody;
    const calls = tools !== undefined && tool_choice !== 'none' && messages.at(-1)?.role === 'user';
    const call = { name: 'get_weather', arguments: '{"location":"San Francisco"}' };
    return answering(calls ? { toolCalls: [call] } : { text: 'Hello there.' })(request);
  };

  const startInFrontOfChat = async (): Promise<Service> => {
    const service = await startChatService({ models: [{ name: 'gpt-5', provider: 'upstream' }] });
    service.upstream.alwaysRespond(model);
    return service;
  };

  const startInFrontOfItself = async (): Promise<Service> => {
    const inner = await startService();
    const entry = { base_url: inner.baseURL, supports_websockets: true };
    const outer = await startResponsesService({ entry, models: [{ name: 'gpt-5', provider: 'upstream' }] });
    const close = async (): Promise<void> => {
      await outer.close();
      await inner.close();
    };
    return { ...outer, close, [Symbol.asyncDispose]: close };
  };

  it.each<[behind: string, start: () => Promise<Service>]>([
    ['the simulator', startService],
    ['a Chat Completions server', startInFrontOfChat],
    ['another Antiphon', startInFrontOfItself],
  ])('all pass with %s behind the service', async (_, start) => {
    await using service = await start();
    const { code, stdout, stderr } = await run('compliance', service.baseURL);
    expect(stdout.split('\n').filter((line) => line.startsWith('FAIL'))).toEqual([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('17 of 17 passed');
  });
});
