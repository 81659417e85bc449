import { describe, expect, it } from '@jest/globals';

import { type Both, calm, startBoth } from './mcp-service.js';

const JSON_HEADERS = { 'content-type': 'application/json' };
const EVENT_HEADERS = { 'content-type': 'text/event-stream' };
const OBJECT = { type: 'object' };
const PAGE = { 'content-type': 'text/html' };
const TOOL = { name: 'echo', description: null, input_schema: OBJECT, annotations: null };
const DONE = { content: [{ type: 'text', text: 'done' }] };

type Answer = readonly [status: number, headers: Record<string, string>, body: string | ((id: unknown) => string)];

/** Answers each message of a method in place of the server; where `times` is given, only the first ones. */
function answerAll({ fake }: Both, method: string, [status, headers, body]: Answer, times = Infinity): void {
  let left = times;
  fake.behaviour = ({ message }, answer) => {
    if (message.method !== method || left === 0) return false;
    left -= 1;
    answer.writeHead(status, headers).end(typeof body === 'string' ? body : body(message.id));
    return true;
  };
}

function rpc(members: object): Answer {
  return [200, JSON_HEADERS, (id) => JSON.stringify({ jsonrpc: '2.0', id, ...members })];
}

/** The same as an event. */
function inEvents(members: object): Answer {
  return [200, EVENT_HEADERS, (id) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, ...members })}\n\n`];
}

describe('servers that write the protocol in other forms', () => {
  it.each<[string, object, object?]>([
    ['ends its pages with null', { nextCursor: null }],
    [
      'has null in place of what a tool lacks',
      { description: null, title: null, annotations: null, outputSchema: null },
    ],
    ['names no schema of arguments', { inputSchema: undefined }],
    ['has a schema of arguments without a type', { inputSchema: {} }],
    ['has null in a schema of arguments', { inputSchema: { type: 'object', properties: null, required: null } }],
    ['has a schema of arguments of two types', { inputSchema: { type: ['object', 'null'] } }],
    [
      'has alternatives as the schema of arguments',
      { inputSchema: { oneOf: [OBJECT] } },
      { input_schema: { type: 'object', oneOf: [OBJECT] } },
    ],
    ['has a schema of results that is none of an object', { outputSchema: { type: 'array' } }],
    [
      'has hints of other types',
      { annotations: { readOnlyHint: 'true', idempotentHint: true, title: 5 } },
      { annotations: { idempotentHint: true } },
    ],
    ['has malformed icons', { icons: [{ url: 'x' }] }],
  ])('the MCP client lists the tools of a server that %s', async (_name, members, expected = {}) => {
    await using both = await startBoth();
    const { nextCursor, ...tool } = members as { readonly nextCursor?: unknown };
    const tools = [{ name: 'echo', inputSchema: OBJECT, ...tool }, { name: 7 }, null];
    answerAll(both, 'tools/list', rpc({ result: { tools, nextCursor } }));
    expect(await both.server.list(calm)).toEqual([{ ...TOOL, ...expected }]);
  });

  it('the MCP client reads an empty cursor as the end of a list', async () => {
    await using both = await startBoth();
    const pages = ['2', ''];
    both.fake.behaviour = ({ message: { id, method } }, answer) => {
      if (method !== 'tools/list') return false;
      const nextCursor = pages.shift();
      const result = { tools: [{ name: `before-${nextCursor}`, inputSchema: OBJECT }], nextCursor };
      answer.writeHead(200, JSON_HEADERS).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      return true;
    };
    expect((await both.server.list(calm)).map(({ name }) => name)).toEqual(['before-2', 'before-']);
    expect(both.fake.count('tools/list')).toBe(2);
  });

  it('a list of tools says in the log how many it lacks, once', async () => {
    const tools = [{ name: 'echo' }, { name: 'x'.repeat(129) }, { name: '' }];
    await using both = await startBoth(tools);
    for (let round = 0; round < 2; round++) expect(await both.server.list(calm)).toHaveLength(1);
    const said = both.mcp.log.lines.filter((line) => line.includes('2 of its 3 tools are left out'));
    expect(said).toHaveLength(1);
  });

  it('a list of tools has those that the operator offers, however many others come before them', async () => {
    const others = Array.from({ length: 2001 }, (_, index) => ({ name: `other-${index}` }));
    await using both = await startBoth([...others, { name: 'echo' }], {}, { tools: ['echo'] });
    expect(await both.server.list(calm)).toEqual([TOOL]);
    expect(both.mcp.log.lines.join()).not.toContain('left out');
  });

  const info = { name: 'x', version: '1' };
  it.each<[string, object]>([
    ['names no capability', { capabilities: {}, serverInfo: info }],
    ['has null in place of capabilities', { capabilities: { tools: {}, prompts: null }, serverInfo: info }],
    ['has a capability that is no object', { capabilities: { tools: true }, serverInfo: info }],
    ['lacks capabilities', { serverInfo: info }],
    ['does not say what it is', { capabilities: { tools: {} } }],
    ['has no version', { capabilities: { tools: {} }, serverInfo: { name: 'x' }, instructions: null }],
  ])('the MCP client lists and calls the tools of a server that %s', async (_name, hello) => {
    for (const transport of ['streamable-http', 'sse'] as const) {
      await using both = await startBoth(undefined, { transport, hello });
      expect(await both.server.list(calm)).toEqual([TOOL]);
      expect(await both.server.call('echo', { n: 1 }, { signal: calm })).toEqual({ output: '{"n":1}' });
    }
  });

  it.each([
    ['names no tools among its capabilities, and has no list', {}, []],
    ['names tools among its capabilities, and has no list', { tools: {} }, 'Method not found'],
  ])('the MCP client reads the tools of a server that %s', async (_name, capabilities, expected) => {
    await using both = await startBoth(undefined, { hello: { capabilities, serverInfo: info } });
    answerAll(both, 'tools/list', rpc({ error: { code: -32_601, message: 'Method not found' } }));
    const listed = await both.server.list(calm).catch((error: unknown) => (error as Error).message);
    expect(listed).toEqual(typeof expected === 'string' ? expect.stringContaining(expected) : expected);
  });

  it('the MCP client says of a server that its version of the protocol is not known', async () => {
    await using both = await startBoth(undefined, { hello: { protocolVersion: '1.0' } });
    await expect(both.server.list(calm)).rejects.toThrow('speaks no version of the protocol');
  });

  it.each<[string, Answer]>([
    ['HTTP 500', [500, JSON_HEADERS, '{"detail":"KeyError"}']],
    ['HTTP 501', [501, {}, 'no']],
    ['HTTP 200 and nothing', [200, JSON_HEADERS, '']],
    ['a page', [200, PAGE, '<html>']],
    [
      'an error without an id',
      [200, JSON_HEADERS, '{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}'],
    ],
  ])(
    'the MCP client begins with an older version where a server answers a question for its versions with %s',
    async (_name, answer) => {
      await using both = await startBoth();
      answerAll(both, 'server/discover', answer);
      expect(await both.server.list(calm)).toEqual([TOOL]);
    },
  );

  const nulls = { ...DONE, structuredContent: null, isError: null };
  it.each<[string, object]>([
    ['has null in place of what it lacks', { result: { ...nulls, _meta: null } }],
    ['comes with null in place of what it is not', { method: null, params: null, error: null, result: DONE }],
    ['comes with an error that is false', { error: false, result: DONE }],
    ['comes with an error that has no members', { error: {}, result: DONE }],
  ])('the MCP client reads a result that %s', async (_name, members) => {
    await using both = await startBoth();
    await both.server.list(calm);
    answerAll(both, 'tools/call', rpc(members));
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: 'done' });
  });

  it('the MCP client reads a result of an older server that has null in place of what it lacks', async () => {
    await using both = await startBoth([{ name: 'echo', handler: () => nulls }], { transport: 'sse' });
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: 'done' });
  });

  it.each([
    [{ toolResult: 'done', isError: false, _meta: {} }, '{"toolResult":"done"}'],
    [{ tools: ['saw'], protocolVersion: '1' }, '{"tools":["saw"],"protocolVersion":"1"}'],
    [{ resultType: 'complete' }, ''],
  ])('the MCP client gives what the result %j has in place of content as a structure', async (result, output) => {
    for (const transport of ['streamable-http', 'sse'] as const) {
      await using both = await startBoth([{ name: 'echo', handler: () => result as never }], { transport });
      expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output });
    }
  });

  it.each<[string, object, object]>([
    ['is a text', { error: 'No row.' }, { code: -32_603, message: 'No row.' }],
    ['has its code as a text', { error: { code: '-32602', message: 'No.' } }, { code: -32_602, message: 'No.' }],
    ['has null as its code', { error: { code: null, message: 'No.' } }, { code: -32_603, message: 'No.' }],
    ['has no message', { error: { code: -32_602 } }, { code: -32_602, message: '{"code":-32602}' }],
    ['names no request', { id: null, error: { code: -32_600, message: 'No.' } }, { code: -32_600, message: 'No.' }],
  ])('a call has the error of a server that %s', async (_name, members, error) => {
    await using both = await startBoth();
    await both.server.list(calm);
    for (const answer of [rpc(members), inEvents(members)]) {
      answerAll(both, 'tools/call', answer);
      expect(await both.server.call('echo', {}, { signal: calm })).toEqual({
        error: { type: 'mcp_protocol_error', ...error },
      });
    }
  });

  it.each([
    ['no type', {}],
    ['the type of a text', { 'content-type': 'text/plain' }],
    ['the type of a page', PAGE],
  ])('the MCP client reads an answer of JSON that names %s', async (_name, headers) => {
    await using both = await startBoth();
    const body = (result: object): Answer => [200, headers, (id) => JSON.stringify({ jsonrpc: '2.0', id, result })];
    answerAll(both, 'tools/list', body({ tools: [{ name: 'echo', inputSchema: OBJECT }] }));
    expect(await both.server.list(calm)).toEqual([TOOL]);
    answerAll(both, 'tools/call', body(DONE));
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: 'done' });
  });

  it.each<[number, object, string]>([
    [200, { type: 'mcp_protocol_error', code: -32_603 }, 'The server answered with a web page'],
    [502, { type: 'http_error', code: 502 }, 'The server answered with HTTP 502 and a web page.'],
  ])('a server that answers with a page and HTTP %i is said to do so', async (status, error, words) => {
    await using both = await startBoth();
    await both.server.list(calm);
    answerAll(both, 'tools/call', [status, PAGE, '\n<!doctype html><title>Log in</title>']);
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({
      error: { ...error, message: expect.stringContaining(words) },
    });
    answerAll(both, 'tools/list', [status, PAGE, '\n<!doctype html><title>Log in</title>']);
    await expect(both.server.list(calm)).rejects.toThrow(words);
  });

  const unknown = 'Bad Request: No valid session ID provided';
  const refusal = (code: number, message: string): Answer => [
    400,
    JSON_HEADERS,
    JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }),
  ];

  it.each([unknown, 'Bad Request: Server not initialized'])(
    'the MCP client begins a new session where a server answers with HTTP 400: %s',
    async (words) => {
      await using both = await startBoth();
      await both.server.list(calm);
      answerAll(both, 'tools/call', refusal(-32_000, words), 1);
      expect(await both.server.call('echo', { n: 1 }, { signal: calm })).toEqual({ output: '{"n":1}' });
      answerAll(both, 'tools/list', refusal(-32_000, words), 1);
      expect(await both.server.list(calm)).toEqual([TOOL]);
      expect(both.fake.count('initialize')).toBe(3);
    },
  );

  it('the MCP client sends a call twice at most that is refused with HTTP 400 for its session, and says what the server says', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    answerAll(both, 'tools/call', refusal(-32_000, unknown));
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({
      error: { type: 'http_error', code: 400, message: expect.stringContaining(unknown) },
    });
    expect(both.fake.count('tools/call')).toBe(2);
  });

  it.each([
    [-32_602, 'Invalid arguments: session is missing'],
    [-32_603, 'The session of the database was rolled back'],
    [-32_000, 'create_session has failed'],
  ])('the MCP client sends a call once that is refused with HTTP 400 and the error %i: %s', async (code, words) => {
    await using both = await startBoth();
    await both.server.list(calm);
    answerAll(both, 'tools/call', refusal(code, words));
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({
      error: { type: 'http_error', code: 400, message: expect.stringContaining(words) },
    });
    expect([both.fake.count('tools/call'), both.fake.count('initialize')]).toEqual([1, 1]);
  });

  it('the MCP client answers a server that asks a user, and reads the answer to the call', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    const asks = JSON.stringify({ jsonrpc: '2.0', id: 'ask', method: 'elicitation/create', params: { message: '?' } });
    answerAll(both, 'tools/call', [
      200,
      EVENT_HEADERS,
      (id) => `data: ${asks}\n\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: DONE })}\n\n`,
    ]);
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: 'done' });
    while (!both.fake.requests.some(({ message }) => message.id === 'ask')) await new Promise(setImmediate);
    const told = both.fake.requests.find(({ message }) => message.id === 'ask')?.message;
    expect(told).toMatchObject({ error: { code: -32_601 } });
  });
});
