import { writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

import { describe, expect, it } from '@jest/globals';

import type { McpServer } from '../../src/mcp/index.js';
import { FakeMcpServer, type FakeMcpCall } from '../../src/testing/index.js';
import { type McpService, startMcp } from './mcp-service.js';

const TENANT = 'acme';

/** A signal that nobody aborts. */
const calm = new AbortController().signal;

const find = ({ servers }: McpService, label = 'docs'): McpServer =>
  servers.find({ type: 'mcp', server_label: label }, TENANT, 'tools[0]');

/** A fake server that the service knows as `docs`. */
async function startBoth(
  tools: Parameters<typeof FakeMcpServer.start>[0] = [{ name: 'echo' }],
  options: Parameters<typeof FakeMcpServer.start>[1] = {},
  entry: object = {},
): Promise<{ fake: FakeMcpServer; mcp: McpService; server: McpServer } & AsyncDisposable> {
  const fake = await FakeMcpServer.start(tools, options);
  const mcp = await startMcp({ servers: { docs: { url: fake.url, ...entry } } });
  return {
    fake,
    mcp,
    server: find(mcp),
    async [Symbol.asyncDispose]() {
      await mcp[Symbol.asyncDispose]();
      await fake.close();
    },
  };
}

describe('lists and calls', () => {
  it.each([
    { transport: 'streamable-http', answers: 'events' },
    { transport: 'streamable-http', answers: 'json' },
    { transport: 'sse' },
  ] as const)('lists all pages and calls over $transport $answers', async (options) => {
    const tools = [
      { name: 'echo', description: 'Repeats.', annotations: { readOnlyHint: true } },
      { name: 'two' },
      { name: 'three' },
    ];
    await using both = await startBoth(tools, { ...options, pageSize: 2 }, { tools: ['echo', 'three'] });
    const listed = await both.server.list(calm);
    expect(listed).toEqual([
      {
        name: 'echo',
        description: 'Repeats.',
        input_schema: { type: 'object' },
        annotations: { readOnlyHint: true },
      },
      { name: 'three', description: null, input_schema: { type: 'object' }, annotations: null },
    ]);
    expect(await both.server.call('echo', { a: 1 }, { signal: calm })).toEqual({ output: '{"a":1}' });
    expect(both.fake.count('tools/list')).toBe(2);
    // One connection has done all of it.
    expect(both.fake.openSessions).toBe(1);
    expect(both.mcp.records).toMatchObject([
      { server: 'docs', kind: 'list', tool: null, outcome: 'ok' },
      { server: 'docs', kind: 'call', tool: 'echo', outcome: 'ok' },
    ]);
    expect([...both.mcp.log.complaints]).toEqual([]);
  });

  it('has texts, structured results and other parts as lines', async () => {
    const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' };
    const results = [
      { content: [{ type: 'text', text: 'one' }, image, { type: 'text', text: 'two' }] },
      { content: [{ type: 'text', text: '{"n": 1}' }, image], structuredContent: { n: 1 } },
      { content: [] },
    ];
    await using both = await startBoth([{ name: 'next', handler: () => results.shift() ?? 'done' }]);
    const outcomes = [];
    for (let turn = 0; turn < 4; turn++) outcomes.push(await both.server.call('next', {}, { signal: calm }));
    const json = JSON.stringify(image);
    expect(outcomes).toEqual([
      { output: `one\n${json}\ntwo` },
      { output: `{"n":1}\n${json}` },
      { output: '' },
      { output: 'done' },
    ]);
  });

  it('has the errors of tools and of the protocol as outcomes, without the credential', async () => {
    const content = [{ type: 'text', text: 'no such city; you are Bearer docs-token-1' }];
    const broken = (): never => {
      throw new Error('cannot reach postgres://db.internal:5432 with docs-token-1');
    };
    await using both = await startBoth(
      [
        { name: 'fails', handler: () => ({ content, isError: true }) },
        { name: 'broken', handler: broken },
        { name: 'leaks', handler: ({ headers }) => `header: ${headers.authorization}` },
      ],
      {},
      { authorization: 'docs-token-1' },
    );
    expect(await both.server.call('fails', {}, { signal: calm })).toEqual({
      error: {
        type: 'mcp_tool_execution_error',
        content: [{ type: 'text', text: 'no such city; you are [redacted]' }],
      },
    });
    expect(await both.server.call('broken', {}, { signal: calm })).toEqual({
      error: { type: 'mcp_protocol_error', code: -32_603, message: 'cannot reach [address] with [redacted]' },
    });
    expect(await both.server.call('leaks', {}, { signal: calm })).toEqual({ output: 'header: [redacted]' });
    expect(await both.server.call('unknown', { secret: 'argument' }, { signal: calm })).toMatchObject({
      error: { type: 'mcp_protocol_error', code: -32_602 },
    });
    const said = [...both.mcp.log.complaints, ...both.mcp.log.notes].join('\n');
    expect(said).toContain('"docs": the call of "broken" failed: cannot reach [address] with [redacted]');
    expect(said).not.toMatch(/docs-token-1|argument|no such city/);
  });
});

describe('time', () => {
  it('ends a call that takes too long, and renews its time with each progress', async () => {
    let begun = Promise.withResolvers<FakeMcpCall>();
    const handler = (call: FakeMcpCall): Promise<string> => {
      begun.resolve(call);
      return new Promise((resolve) => call.signal.addEventListener('abort', () => resolve('cancelled')));
    };
    await using both = await startBoth([{ name: 'slow', handler }], {}, { timeouts: { call_ms: 1000 } });
    const heard: unknown[] = [];
    let told = Promise.withResolvers<void>();
    const outcome = both.server.call(
      'slow',
      {},
      {
        signal: calm,
        onProgress: (progress) => {
          heard.push(progress);
          told.resolve();
        },
      },
    );
    const call = await begun.promise;
    for (const step of [1, 2, 3]) {
      both.mcp.clock.advance(900);
      told = Promise.withResolvers();
      call.progress(step, 3, `step ${step}`);
      await told.promise;
    }
    expect(heard).toMatchObject([{ progress: 1 }, { progress: 2 }, { progress: 3, total: 3, message: 'step 3' }]);
    both.mcp.clock.advance(1000);
    expect(await outcome).toEqual({
      error: { type: 'mcp_protocol_error', code: -32_001, message: 'The server did not answer within 1000 ms.' },
    });
    await both.fake.received('notifications/cancelled');
    expect(call.signal.aborted).toBe(true);
    begun = Promise.withResolvers();
  });

  it('tells the server at once when a call is aborted', async () => {
    const begun = Promise.withResolvers<FakeMcpCall>();
    const handler = (call: FakeMcpCall): Promise<string> => {
      begun.resolve(call);
      return new Promise(() => undefined);
    };
    await using both = await startBoth([{ name: 'hangs', handler }]);
    const stop = new AbortController();
    const reason = new Error('the turn was cancelled');
    const outcome = both.server.call('hangs', {}, { signal: stop.signal }).catch((error: unknown) => error);
    const call = await begun.promise;
    const cancelled = new Promise((resolve) => call.signal.addEventListener('abort', resolve));
    stop.abort(reason);
    expect(await outcome).toBe(reason);
    // No clock moves: nothing but the abort has told it.
    await cancelled;
    expect(both.mcp.records.at(-1)).toMatchObject({ outcome: 'aborted' });
  });

  it('gives up a server that never accepts a connection, or a list', async () => {
    const hang = (): boolean => true;
    await using both = await startBoth([{ name: 'echo' }], { behaviour: hang }, { timeouts: { connect_ms: 500 } });
    const listed = both.server.list(calm).catch((error: unknown) => error);
    await both.fake.received('server/discover');
    both.mcp.clock.advance(500);
    expect(await listed).toMatchObject({
      name: 'McpListError',
      message:
        "Error retrieving tool list from MCP server: 'docs'. The server did not accept a connection within 500 ms.",
    });
    both.fake.behaviour = ({ message }) => message.method === 'tools/list';
    const again = both.server.list(calm).catch((error: unknown) => error);
    await both.fake.received('tools/list');
    both.mcp.clock.advance(30_000);
    expect(await again).toMatchObject({ message: expect.stringContaining('did not answer within 30000 ms') });
  });

  it('lets a slow server hold only calls of its own', async () => {
    await using slow = await FakeMcpServer.start([{ name: 'echo', handler: () => new Promise(() => undefined) }]);
    await using quick = await FakeMcpServer.start([{ name: 'echo' }]);
    await using mcp = await startMcp({
      servers: { slow: { url: slow.url, max_requests: 2 }, quick: { url: quick.url } },
    });
    const stop = new AbortController();
    const held = [1, 2, 3].map((n) =>
      find(mcp, 'slow')
        .call('echo', { n }, { signal: stop.signal })
        .catch(() => 'aborted'),
    );
    await slow.received('tools/call', 2);
    expect(await find(mcp, 'quick').call('echo', {}, { signal: calm })).toEqual({ output: '{}' });
    expect(slow.count('tools/call')).toBe(2);
    stop.abort();
    expect(await Promise.all(held)).toEqual(['aborted', 'aborted', 'aborted']);
  });
});

describe('connections', () => {
  it('begins a new session when the server has forgotten the old one, and calls once', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    both.fake.forgetSessions();
    expect(await both.server.call('echo', { n: 1 }, { signal: calm })).toEqual({ output: '{"n":1}' });
    expect(both.fake.count('initialize')).toBe(2);
    expect(both.mcp.records.at(-1)).toMatchObject({ outcome: 'ok' });
  });

  it('resumes a stream that has broken', async () => {
    const heard = Promise.withResolvers<void>();
    const handler = async (call: FakeMcpCall): Promise<string> => {
      call.progress(1);
      await heard.promise;
      call.drop();
      return 'late, but there';
    };
    await using both = await startBoth([{ name: 'breaks', handler }]);
    const outcome = both.server.call('breaks', {}, { signal: calm, onProgress: () => heard.resolve() });
    let isOver = false;
    void outcome.finally(() => (isOver = true));
    // The pause before the stream is asked for again begins when the break has been seen.
    while (!isOver) {
      both.mcp.clock.advance(10);
      await new Promise(setImmediate);
    }
    expect(await outcome).toEqual({ output: 'late, but there' });
    expect(both.fake.count('tools/call')).toBe(1);
  });

  it('ends a call whose stream ends without an answer', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/call') return false;
      answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n');
      return true;
    };
    expect(await both.server.call('echo', {}, { signal: calm })).toMatchObject({
      error: { type: 'mcp_protocol_error', message: 'The server ended the stream without an answer.' },
    });
  });

  it('closes a connection that nothing uses, and all at the end', async () => {
    const both = await startBoth();
    await both.server.list(calm);
    expect(both.mcp.servers.conditions()).toEqual([{ name: 'docs', error: null, connections: 1 }]);
    both.mcp.clock.advance(5 * 60_000);
    expect(both.mcp.servers.conditions()).toEqual([{ name: 'docs', error: null, connections: 0 }]);
    await both.server.list(calm);
    expect(both.fake.count('initialize')).toBe(2);
    await both.mcp[Symbol.asyncDispose]();
    expect(both.fake.openSessions).toBe(0);
    await both.fake.close();
  });

  it('has no more connections than it may: the one that was idle longest makes room', async () => {
    await using both = await startBoth(undefined, {}, { max_connections: 2 });
    const of = (tenant: string): McpServer =>
      both.mcp.servers.find({ type: 'mcp', server_label: 'docs' }, tenant, 'tools[0]');
    for (const tenant of ['a', 'b', 'a', 'c']) await of(tenant).list(calm);
    expect(both.fake.count('initialize')).toBe(3);
    await of('a').list(calm);
    expect(both.fake.count('initialize')).toBe(3);
    await of('b').list(calm);
    expect(both.fake.count('initialize')).toBe(4);
    expect(both.mcp.servers.conditions()).toEqual([{ name: 'docs', error: null, connections: 2 }]);
  });

  it('hears that a list has changed', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    const listedAt = both.mcp.clock.now();
    both.mcp.clock.advance(1);
    await both.fake.listened();
    expect(both.server.isStale(listedAt)).toBe(false);
    both.fake.changeTools([{ name: 'new' }]);
    while (!both.server.isStale(listedAt)) await new Promise(setImmediate);
    both.mcp.clock.advance(1);
    expect(await both.server.list(calm)).toMatchObject([{ name: 'new' }]);
    expect(both.server.isStale(both.mcp.clock.now())).toBe(false);
    both.mcp.clock.advance(60 * 60_000 + 1);
    expect(both.server.isStale(both.mcp.clock.now() - 60 * 60_000 - 1)).toBe(true);
  });

  it('keeps the connections of servers whose entries stay when the file changes', async () => {
    await using fake = await FakeMcpServer.start([{ name: 'echo' }]);
    await using mcp = await startMcp({ servers: { docs: { url: fake.url }, other: { url: fake.url } } });
    await find(mcp, 'docs').list(calm);
    await find(mcp, 'other').list(calm);
    await writeFile(mcp.path, JSON.stringify({ servers: { docs: { url: fake.url } } }));
    process.emit('SIGHUP');
    while (mcp.servers.conditions().length > 1) await new Promise(setImmediate);
    expect(mcp.servers.conditions()).toEqual([{ name: 'docs', error: null, connections: 1 }]);
    expect(() => find(mcp, 'other')).toThrow("Missing required parameter: 'tools[0].server_url'.");
    await writeFile(mcp.path, 'servers: [');
    process.emit('SIGHUP');
    while (mcp.log.complaints.length === 0) await new Promise(setImmediate);
    expect(mcp.log.complaints.join()).toContain('the servers so far stay');
    await find(mcp, 'docs').list(calm);
    expect(fake.count('initialize')).toBe(2);
  });
});

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
    ['sends no JSON', json, () => '<html>', 'is not valid'],
    ['sends no message', json, () => '{"hello": 1}', 'is not valid'],
    ['sends a result of another form', json, (id: unknown) => call(id, { content: 'hi' }), 'is not valid'],
    ['sends HTML', { 'content-type': 'text/html' }, () => '<html>', 'is not valid'],
    ['sends events without data', events, () => 'data: {"jsonrpc":\n\n', 'ended the stream without an answer'],
  ] as const)('%s', async (_name, headers, body, words) => {
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

  it('reads streams of any length in events that are not too long', async () => {
    const handler = ({ progress }: FakeMcpCall): string => {
      for (let step = 1; step <= 100; step++) progress(step, 100, 'x'.repeat(500));
      return 'done';
    };
    await using both = await startBoth([{ name: 'chatty', handler }], {}, { max_response_bytes: 4096 });
    expect(await both.server.call('chatty', {}, { signal: calm })).toEqual({ output: 'done' });
  });

  it('never follows a redirect to another origin, nor takes its credentials there', async () => {
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

  it('ends pages that never end', async () => {
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

  it.each([401, 403, 429, 500, 503])('answers with HTTP %i', async (status) => {
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

  it('is not there', async () => {
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
