import type { OutgoingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';

import { describe, expect, it } from '@jest/globals';

import { FakeMcpServer, type FakeMcpMessage } from '../../src/testing/index.js';
import { type Both, calm, findServer, startBoth, startMcp } from './mcp-service.js';

const JSON_HEADERS = { 'content-type': 'application/json' };
const EVENT_HEADERS = { 'content-type': 'text/event-stream' };
const TYPE = ['content-type', 'application/json'];
const NOT_PACKED = ['content-encoding', 'identity'];
const DONE = { content: [{ type: 'text', text: 'done' }] };

const toAnswer = (id: unknown, result: object = DONE): string => JSON.stringify({ jsonrpc: '2.0', id, result });

/** Answers the calls of a server. */
function answerCalls(
  { fake }: Pick<Both, 'fake'>,
  body: (message: FakeMcpMessage) => string,
  headers = JSON_HEADERS,
): void {
  fake.behaviour = ({ message }, answer) => {
    if (message.method !== 'tools/call') return false;
    answer.writeHead(200, headers).end(body(message));
    return true;
  };
}

/** A server of 2026-07-28 without sessions, with one tool. Its calls are answered by `onCall`. */
async function startModern(
  onCall: (message: FakeMcpMessage, headers: Readonly<Record<string, unknown>>) => object,
  inputSchema: object = { type: 'object' },
): Promise<Both> {
  const fake = await FakeMcpServer.start([], {
    behaviour: ({ message, headers }, answer) => {
      const { id, method = '' } = message;
      const common = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
      const hello = {
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        serverInfo: { name: 'm', version: '1' },
      };
      const results: Record<string, object> = {
        'server/discover': { result: { ...common, ...hello } },
        'tools/list': { result: { ...common, tools: [{ name: 'echo', inputSchema }] } },
      };
      const body =
        method === 'tools/call'
          ? onCall(message, headers)
          : (results[method] ?? { error: { code: -32_601, message: 'no' } });
      const status = method === 'tools/call' && 'error' in body ? 400 : 200;
      answer.writeHead(status, JSON_HEADERS).end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
      return true;
    },
  });
  const mcp = await startMcp({ servers: { docs: { url: fake.url } } });
  return {
    fake,
    mcp,
    server: findServer(mcp),
    async [Symbol.asyncDispose]() {
      await mcp[Symbol.asyncDispose]();
      await fake.close();
    },
  };
}

describe('the exchange of a call', () => {
  it('the MCP client sends all calls again, each once, that a server refuses since it has forgotten the session', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    both.fake.forgetSessions();
    const calls = [1, 2, 3].map((n) => both.server.call('echo', { n }, { signal: calm }));
    expect(await Promise.all(calls)).toEqual([1, 2, 3].map((n) => ({ output: `{"n":${n}}` })));
  });

  it('the MCP client follows a redirect within the origin of the server', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    let redirected = 0;
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/call' || redirected === 2) return false;
      redirected += 1;
      answer.writeHead(307, { location: `${both.fake.origin}/elsewhere` }).end();
      return true;
    };
    expect(await both.server.call('echo', { n: 1 }, { signal: calm })).toEqual({ output: '{"n":1}' });
  });

  it.each([
    ['JSON', JSON_HEADERS, (id: unknown) => toAnswer(id)],
    ['events', EVENT_HEADERS, (id: unknown) => `data: ${toAnswer(id)}\n\n`],
  ] as const)('the MCP client reads an answer in compressed %s', async (_name, headers, body) => {
    await using both = await startBoth();
    await both.server.list(calm);
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/call') return false;
      answer.writeHead(200, { ...headers, 'content-encoding': 'gzip' }).end(gzipSync(body(message.id)));
      return true;
    };
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: 'done' });
  });

  it.each([
    ['without content', {}, ''],
    ['with a structure and without content', { structuredContent: { sum: 3 } }, '{"sum":3}'],
  ])('the MCP client reads a result %s', async (_name, result, output) => {
    await using both = await startBoth();
    await both.server.list(calm);
    answerCalls(both, ({ id }) => toAnswer(id, result));
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output });
  });

  it.each(['task', 'inputRequests', 'requestState'])(
    'the MCP client fails a call whose result has no content and a member of another answer, %s',
    async (member) => {
      await using both = await startBoth();
      await both.server.list(calm);
      answerCalls(both, ({ id }) => toAnswer(id, { [member]: {} }));
      expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
        error: { type: 'mcp_protocol_error', message: 'The answer of the server is not valid.' },
      });
    },
  );

  it.each([
    ['begins with a byte order mark', JSON_HEADERS, (id: unknown, result: object) => `\ufeff${toAnswer(id, result)}`],
    ['names its type twice', [...TYPE, ...TYPE], toAnswer],
    ['names its type twice in a line', { 'content-type': 'application/json, application/json' }, toAnswer],
    ['names its type in capitals', { 'content-type': 'Application/JSON; Charset=UTF-8' }, toAnswer],
    [
      'names that of events in capitals',
      { 'content-type': 'Text/Event-Stream' },
      (id: unknown, result: object) => `data: ${toAnswer(id, result)}\n\n`,
    ],
    ['says twice that it is not packed', [...TYPE, ...NOT_PACKED, ...NOT_PACKED], toAnswer],
  ] as const)(
    'the MCP client reads a list, and the result of a call, from an answer that %s',
    async (_name, headers, toBody) => {
      const results: Record<string, object> = {
        'tools/call': DONE,
        'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
      };
      await using both = await startBoth(undefined, {
        behaviour: ({ message: { id, method = '' } }, answer) => {
          const result = results[method];
          if (result === undefined) return false;
          answer.writeHead(200, headers as OutgoingHttpHeaders).end(toBody(id, result));
          return true;
        },
      });
      expect(await both.server.list(calm)).toMatchObject([{ name: 'echo' }]);
      expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: 'done' });
    },
  );

  it('the MCP client fails a call whose answer has no body, and claims that it is packed', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/call') return false;
      answer.writeHead(204, { 'content-encoding': 'gzip' }).end();
      return true;
    };
    expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
      error: { type: 'mcp_protocol_error', message: 'The answer of the server is not valid.' },
    });
  });

  it('the MCP client sends a call once that an older server answers with the code of a later version', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    const error = { code: -32_020, message: 'The row is locked.' };
    answerCalls(both, ({ id }) => JSON.stringify({ jsonrpc: '2.0', id, error }));
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({
      error: { type: 'mcp_protocol_error', ...error },
    });
    expect(both.fake.count('tools/call')).toBe(1);
  });

  it.each([
    [300, '/elsewhere'],
    [301, '/elsewhere'],
    [302, '/elsewhere'],
    [303, '/elsewhere'],
    [304, undefined],
    [307, undefined],
    [307, 'http://elsewhere.example/mcp'],
    [308, 'http://['],
  ])('the MCP client sends a call once that is answered by HTTP %i to %s', async (status, location) => {
    await using both = await startBoth();
    await both.server.list(calm);
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/call') return false;
      answer.writeHead(status, location === undefined ? {} : { location }).end();
      return true;
    };
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({
      error: { type: 'http_error', code: status, message: `The server answered with HTTP ${status}.` },
    });
    expect(both.fake.count('tools/call')).toBe(1);
  });

  it('the MCP client reads an answer among other messages, hears what they say, and answers a ping', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    const listedAt = both.mcp.clock.now();
    answerCalls(
      both,
      ({ id }) =>
        `[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},{"jsonrpc":"2.0","id":7,"method":"ping"},${toAnswer(id)}]`,
    );
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: 'done' });
    expect(both.server.isStale(listedAt)).toBe(true);
    while (!both.fake.requests.some(({ message }) => message.id === 7)) await new Promise(setImmediate);
    expect(both.fake.requests.find(({ message }) => message.id === 7)?.message).toMatchObject({ result: {} });
  });

  it('the MCP client fails a call whose answer is for another one, without a wait for its time limit', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    answerCalls(both, () => toAnswer(12_345));
    expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
      error: { type: 'mcp_protocol_error', message: 'The server ended the stream without an answer.' },
    });
  });

  it('the MCP client reads a result without the structure that the schema of its tool promises', async () => {
    for (const answers of ['json', 'events'] as const) {
      const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
      await using both = await startBoth([{ name: 'lies', outputSchema, handler: () => 'no structure' }], { answers });
      await both.server.list(calm);
      expect(await both.server.call('lies', {}, { signal: calm })).toEqual({ output: 'no structure' });
    }
    const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
    await using old = await startBoth([{ name: 'lies', outputSchema, handler: () => 'no structure' }], {
      transport: 'sse',
    });
    await old.server.list(calm);
    expect(await old.server.call('lies', {}, { signal: calm })).toEqual({ output: 'no structure' });
  });

  it('the MCP client ends a call when its connection is closed', async () => {
    const both = await startBoth([{ name: 'hangs', handler: () => new Promise(() => undefined) }]);
    const outcome = both.server.call('hangs', {}, { signal: calm });
    await both.fake.received('tools/call');
    await both.mcp[Symbol.asyncDispose]();
    expect(await outcome).toMatchObject({ error: { message: 'The connection to the server was closed.' } });
    await both.fake.close();
  });
});

describe('the exchange of a call by the protocol of 2026-07-28', () => {
  const complete = { resultType: 'complete', ...DONE };

  it('the MCP client names the call in headers, and says who calls', async () => {
    await using both = await startModern(() => ({ result: complete }));
    expect(await both.server.call('echo', { n: 1 }, { signal: calm })).toEqual({ output: 'done' });
    const { message, headers } = await both.fake.received('tools/call');
    expect(headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
    });
    expect(message.params).toMatchObject({
      arguments: { n: 1 },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'antiphon' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    });
  });

  it('the MCP client sends arguments as headers, where the schema of a tool demands it, also for a server whose list it has not read', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string', 'x-mcp-header': 'City' } } };
    const onCall = (_message: FakeMcpMessage, headers: Readonly<Record<string, unknown>>): object =>
      headers['mcp-param-city'] === 'Rome'
        ? { result: complete }
        : { error: { code: -32_020, message: 'Header mismatch' } };
    await using both = await startModern(onCall, schema);
    expect(await both.server.call('echo', { city: 'Rome' }, { signal: calm })).toEqual({ output: 'done' });
    const refused = both.fake.count('tools/call');
    await both.server.list(calm);
    expect(await both.server.call('echo', { city: 'Rome' }, { signal: calm })).toEqual({ output: 'done' });
    expect(both.fake.count('tools/call')).toBe(refused + 1);
  });

  it.each([
    [
      'asks for input',
      { resultType: 'input_required', inputRequests: {} },
      'The server asks for input of a user, which',
    ],
    ['is of no type', DONE, 'The answer of the server is not valid.'],
    ['has no content', { resultType: 'complete' }, 'The answer of the server is not valid.'],
  ])('the MCP client fails a call whose result %s', async (_name, result, words) => {
    await using both = await startModern(() => ({ result }));
    expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
      error: { type: 'mcp_protocol_error', message: expect.stringContaining(words) },
    });
  });

  it('a call has an error of the protocol that comes with HTTP 400', async () => {
    await using both = await startModern(() => ({ error: { code: -32_602, message: 'Unknown tool' } }));
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({
      error: { type: 'mcp_protocol_error', code: -32_602, message: 'Unknown tool' },
    });
  });
});
