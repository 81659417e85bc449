import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

import { describe, expect, it } from '@jest/globals';

import { type FakeMcpCall, FakeMcpServer } from '../../src/testing/index.js';
import { calm, findServer, startBoth, startMcp } from './mcp-service.js';

describe('servers that misbehave', () => {
  const json = { 'content-type': 'application/json' };
  const events = { 'content-type': 'text/event-stream' };
  const call = (id: unknown, result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result });
  const long = 'x'.repeat(5000);

  it.each([
    [
      'sends too long an answer',
      json,
      (id: unknown) => call(id, { content: [{ type: 'text', text: long }] }),
      'more than 4096 bytes',
    ],
    [
      'sends too long an event',
      events,
      (id: unknown) => `data: ${call(id, { content: [{ type: 'text', text: long }] })}\n\n`,
      'more than 4096 bytes',
    ],
    [
      'sends a bomb',
      { ...json, 'content-encoding': 'gzip' },
      () => gzipSync(Buffer.alloc(64 * 1024 * 1024)),
      'more than 4096 bytes',
    ],
    ['sends no JSON', json, () => 'hello', 'is not valid'],
    ['sends no message', json, () => '{"hello": 1}', 'is not valid'],
    ['sends a result of another form', json, (id: unknown) => call(id, { content: 'hi' }), 'is not valid'],
    ['sends what is no gzip as gzip', { ...json, 'content-encoding': 'gzip' }, () => 'no gzip', 'is not valid'],
    ['sends what is no Brotli as Brotli', { ...json, 'content-encoding': 'br' }, () => 'no Brotli', 'is not valid'],
    ['sends HTML', { 'content-type': 'text/html' }, () => '<html>', 'answered with a web page'],
    ['sends events without data', events, () => 'data: {"jsonrpc":\n\n', 'ended the stream without an answer'],
  ] as const)('a call fails of an MCP server that %s', async (_name, headers, body, words) => {
    await using both = await startBoth(undefined, {}, { max_response_bytes: 4096 });
    await both.server.list(calm);
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/call') return false;
      answer.writeHead(200, headers).end(body(message.id));
      return true;
    };
    expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
      error: { type: 'mcp_protocol_error', message: expect.stringContaining(words) },
    });
    both.fake.behaviour = null;
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: '{}' });
  });

  it.each([
    ['result', 20_000, (deep: string) => `{"content":[],"structuredContent":${deep}}`],
    ['error', 2500, (deep: string) => `{"content":[{"type":"text","text":"no","_meta":${deep}}],"isError":true}`],
  ])('the MCP client fails a call whose %s is nested too deeply to be written', async (_name, levels, toResult) => {
    await using both = await startBoth();
    await both.server.list(calm);
    const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/call') return false;
      const result = toResult(deep);
      answer.writeHead(200, json).end(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${result}}`);
      return true;
    };
    expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
      error: { type: 'mcp_protocol_error' },
    });
  });

  it.each([
    ['is packed too often', 200, 'gzip,gzip,gzip,gzip,gzip,gzip', 'no'],
    ['claims to be packed and is not', 200, 'gzip', 'no gzip'],
    ['is cut off while it is packed', 200, 'gzip', gzipSync('data: 1\n\n').subarray(0, 12)],
    ['has no body, and claims to be packed', 204, 'gzip', ''],
  ])('the MCP client calls tools while the stream of notifications %s', async (_name, status, coding, body) => {
    await using both = await startBoth();
    const answered = Promise.withResolvers<undefined>();
    both.fake.listening = (answer) => {
      answer.writeHead(status, { ...events, 'content-encoding': coding }).end(body, () => answered.resolve(undefined));
      return true;
    };
    await both.server.list(calm);
    await answered.promise;
    for (const sku of [1, 2])
      expect(await both.server.call('echo', { sku }, { signal: calm })).toEqual({ output: `{"sku":${sku}}` });
  });

  it('the MCP client ends a notification that is answered by an empty body which claims to be packed', async () => {
    await using both = await startBoth();
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'notifications/initialized') return false;
      answer.writeHead(204, { 'content-encoding': 'gzip' }).end();
      return true;
    };
    await both.server.list(calm);
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: '{}' });
  });

  const NOISE = 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n';

  /** Writes events until the client closes the connection, 64 MB at most. Returns whether it did. */
  const flood = (answer: ServerResponse, status = 200): Promise<boolean> => pour(answer.writeHead(status, events));

  const pour = async (answer: ServerResponse): Promise<boolean> => {
    const closed = once(answer, 'close');
    for (let bytes = 0; bytes < 64_000_000 && !answer.destroyed; bytes += 1000 * NOISE.length) {
      if (!answer.write(NOISE.repeat(1000))) await Promise.race([once(answer, 'drain'), closed]);
    }
    const isCut = answer.destroyed;
    answer.end();
    return isCut;
  };

  it.each([
    ['notifications/initialized', 200],
    ['notifications/initialized', 202],
    ['tools/list', 202],
  ])(
    'the MCP client does not read what comes without end after %s with HTTP %i, where no answer is due',
    async (method, status) => {
      await using both = await startBoth(undefined, {}, { max_response_bytes: 4096 });
      const isCut = Promise.withResolvers<boolean>();
      both.fake.behaviour = ({ message }, answer) => {
        if (message.method !== method) return false;
        flood(answer, status).then(isCut.resolve, isCut.reject);
        return true;
      };
      const stop = new AbortController();
      const listed = both.server.list(stop.signal).catch(() => null);
      expect(await isCut.promise).toBe(true);
      stop.abort();
      await listed;
    },
  );

  it('the MCP client ends a stream of notifications without end, and calls tools', async () => {
    await using both = await startBoth(undefined, {}, { max_response_bytes: 4096 });
    const isCut = Promise.withResolvers<boolean>();
    both.fake.listening = (answer) => {
      flood(answer).then(isCut.resolve, isCut.reject);
      return true;
    };
    await both.server.list(calm);
    expect(await isCut.promise).toBe(true);
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: '{}' });
  });

  it('the MCP client ends a call whose stream goes on without end and without its answer', async () => {
    await using both = await startBoth(undefined, {}, { max_response_bytes: 4096 });
    await both.server.list(calm);
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/call') return false;
      void flood(answer);
      return true;
    };
    expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
      error: { type: 'mcp_protocol_error', message: 'The answer of the server has more than 131072 bytes.' },
    });
    both.fake.behaviour = null;
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: '{}' });
  });

  it('the MCP client ends a call of an older server whose stream goes on without end and without its answer', async () => {
    const transport = 'sse';
    await using both = await startBoth(undefined, {}, { max_response_bytes: 4096, transport });
    const stream = Promise.withResolvers<ServerResponse>();
    both.fake.listening = (answer) => {
      answer.writeHead(200, events).write('event: endpoint\ndata: /messages\n\n');
      stream.resolve(answer);
      return true;
    };
    both.fake.behaviour = ({ message: { id, method } }, answer) => {
      answer.writeHead(202).end();
      const result = { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'old', version: '1' } };
      void stream.promise.then(async (standing) => {
        const error = { code: -32_601, message: 'Method not found' };
        if (method === 'initialize') standing.write(`data: ${call(id, result)}\n\n`);
        else if (method === 'tools/call') await pour(standing);
        else if (id !== undefined) standing.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, error })}\n\n`);
      });
      return true;
    };
    expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
      error: { type: 'mcp_protocol_error' },
    });
  });

  it('the MCP client fails a list whose pages are too long together', async () => {
    await using both = await startBoth([{ name: 'a' }, { name: 'b' }], { pageSize: 1 }, { max_response_bytes: 4096 });
    let page = 0;
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/list') return false;
      page += 1;
      const inputSchema = { type: 'object', description: 'x'.repeat(1000) };
      const tools = [{ name: `t${page}`, inputSchema }];
      answer.writeHead(200, json).end(call(message.id, page < 8 ? { tools, nextCursor: String(page) } : { tools }));
      return true;
    };
    await expect(both.server.list(calm)).rejects.toMatchObject({
      message: expect.stringContaining('more than 4096 bytes'),
    });
    expect(page).toBeLessThan(8);
  });

  it('the MCP client bounds the answer of a server that fails a list with a stream of short events', async () => {
    await using both = await startBoth(undefined, {}, { max_response_bytes: 4096 });
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/list') return false;
      answer.writeHead(500, events).end('data: 1\n\n'.repeat(1000));
      return true;
    };
    await expect(both.server.list(calm)).rejects.toMatchObject({
      message: expect.stringContaining('more than 4096 bytes'),
    });
  });

  it('the MCP client reads streams of any length in events that are not too long', async () => {
    const handler = (running: FakeMcpCall): string => {
      for (let step = 1; step <= 100; step++) running.progress(step, 100, 'x'.repeat(500));
      return 'done';
    };
    await using both = await startBoth([{ name: 'chatty', handler }], {}, { max_response_bytes: 4096 });
    expect(await both.server.call('chatty', {}, { signal: calm })).toEqual({ output: 'done' });
  });

  it('the service never follows a redirect to another origin, nor takes its credentials there', async () => {
    await using elsewhere = await FakeMcpServer.start([{ name: 'echo' }]);
    await using both = await startBoth(undefined, {}, { authorization: 'docs-token-1' });
    await both.server.list(calm);
    for (const status of [301, 302, 307, 308]) {
      both.fake.behaviour = (_request, answer) => {
        answer.writeHead(status, { location: elsewhere.url }).end();
        return true;
      };
      expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
        error: { type: 'http_error', code: status },
      });
    }
    expect(elsewhere.requests).toEqual([]);
  });

  it('the MCP client sends nothing to another origin that the stream of an older server names', async () => {
    await using elsewhere = await FakeMcpServer.start([{ name: 'echo' }], { transport: 'sse' });
    await using old = createServer((request, answer) => {
      if (request.method !== 'GET') answer.writeHead(405).end();
      else answer.writeHead(200, events).write(`event: endpoint\ndata: ${elsewhere.origin}/messages?s=1\n\n`);
    }).listen(0, '127.0.0.1');
    await once(old, 'listening');
    const url = `http://127.0.0.1:${(old.address() as AddressInfo).port}/sse`;
    await using mcp = await startMcp({ servers: { docs: { url, authorization: 'docs-token-1' } } });
    expect(await findServer(mcp).call('echo', {}, { signal: calm })).toHaveProperty('error');
    expect(elsewhere.requests).toEqual([]);
    old.closeAllConnections();
  });

  it('the MCP client ends pages that never end', async () => {
    await using both = await startBoth([{ name: 'a' }, { name: 'b' }], { pageSize: 1 });
    let page = 0;
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/list') return false;
      const tools = [{ name: `t${page}`, inputSchema: { type: 'object' } }];
      answer.writeHead(200, json).end(call(message.id, { tools, nextCursor: String((page += 1)) }));
      return true;
    };
    await expect(both.server.list(calm)).rejects.toMatchObject({ name: 'McpListError' });
    expect(page).toBeLessThan(100);
  });

  it.each([401, 403, 429, 500, 503])('a server that misbehaves answers with HTTP %i', async (status) => {
    await using both = await startBoth(undefined, {
      behaviour: (_request, answer) => {
        answer.writeHead(status).end('token docs-token-1 of https://inner.example/ is bad');
        return true;
      },
    });
    expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
      error: { type: 'http_error', code: status },
    });
  });

  it.each([
    ['without an answer', 'streamable-http', undefined, -32_000, 'The connection to the server was closed.'],
    ['without an answer', 'sse', undefined, -32_000, 'The connection to the server was closed.'],
    ['in the middle of an answer', 'streamable-http', '{"json', -32_000, 'The connection to the server was closed.'],
    ['after what is no HTTP', 'streamable-http', null, -32_603, 'The answer of the server is not valid.'],
  ] as const)(
    'a server that ends the connection of a call %s (%s) may have handled it: its error does not say that it was not reached',
    async (_name, transport, begin, code, message) => {
      await using both = await startBoth(undefined, { transport });
      await both.server.list(calm);
      both.fake.behaviour = ({ message: { method } }, answer) => {
        if (method !== 'tools/call') return false;
        if (begin === null) answer.socket?.end('SSH-2.0-none\r\n');
        else if (begin === undefined) answer.destroy();
        else answer.writeHead(200, { ...json, 'content-length': 1000 }).write(begin, () => answer.destroy());
        return true;
      };
      expect(await both.server.call('echo', {}, { signal: calm })).toEqual({
        error: { type: 'mcp_protocol_error', code, message },
      });
      expect(both.fake.count('tools/call')).toBe(1);
    },
  );

  it('a server that is not there fails a call, and says why in its condition', async () => {
    const both = await startBoth();
    await both.fake.close();
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({
      error: { type: 'http_error', code: 502, message: 'The server could not be reached: ECONNREFUSED' },
    });
    expect(both.mcp.servers.conditions()).toEqual([
      { name: 'docs', connections: 0, error: 'The server could not be reached: ECONNREFUSED' },
    ]);
    await both.mcp[Symbol.asyncDispose]();
  });
});
