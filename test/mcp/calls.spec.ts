import { describe, expect, it } from '@jest/globals';

import { type FakeMcpCall, FakeMcpServer } from '../../src/testing/index.js';
import { calm, findServer, startBoth, startMcp } from './mcp-service.js';

describe('lists and calls', () => {
  it.each([
    { transport: 'streamable-http', answers: 'events' },
    { transport: 'streamable-http', answers: 'json' },
    { transport: 'sse' },
  ] as const)('the MCP client lists all pages and calls over $transport $answers', async (options) => {
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

  it('a call has texts, structured results and other parts as lines', async () => {
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

  it('a call has the errors of tools and of the protocol as outcomes, without the credential', async () => {
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
      { authorization: 'docs-token-1', headers: { 'x-level': '2', 'x-app': 'e' } },
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
    expect(said).toContain('"docs": the call of "broken" failed: The server answered with the error -32603.');
    expect(said).not.toMatch(/docs-token-1|argument|no such city|cannot reach/);
  });

  it.each([
    ['an error of the protocol', 200, 'The server answered with the error -32602.'],
    ['HTTP 500', 500, 'The server answered with HTTP 500.'],
  ])(
    'the log and the condition of a server repeat no arguments that it quotes in %s, the call does',
    async (_name, status, words) => {
      await using both = await startBoth();
      await both.server.list(calm);
      both.fake.behaviour = ({ message }, answer) => {
        if (message.method !== 'tools/call') return false;
        const error = { code: -32_602, message: `Invalid arguments: ${JSON.stringify(message.params)}` };
        answer.writeHead(status, { 'content-type': 'application/json' });
        answer.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }));
        return true;
      };
      expect(await both.server.call('echo', { diagnosis: 'measles' }, { signal: calm })).toMatchObject({
        error: { message: expect.stringContaining('measles') },
      });
      expect(both.mcp.log.complaints).toEqual([`"docs": the call of "echo" failed: ${words} MCP`]);
      expect(JSON.stringify(both.mcp.servers.conditions())).not.toContain('measles');
    },
  );

  it.each([
    ['?apiKey=a-very-secret-key', /a-very-secret-key|apiKey/],
    ['/s/OTc2YjQ5NDAtZGVh1/mcp', /OTc2YjQ5NDAtZGVh1/],
  ])('messages and results have no credential of the URL that ends with %s', async (end, credential) => {
    const address = Promise.withResolvers<string>();
    const handler = async (): Promise<string> => `The page ${await address.promise} is gone.`;
    await using fake = await FakeMcpServer.start([{ name: 'page', handler }]);
    const url = new URL(end, fake.url);
    address.resolve(url.pathname + url.search);
    await using mcp = await startMcp({ servers: { docs: { url: url.href } } });
    expect(JSON.stringify(await findServer(mcp).call('page', {}, { signal: calm }))).not.toMatch(
      /a-very-secret-key|OTc2/,
    );
    fake.behaviour = ({ message }, answer) => {
      if (message.method === 'initialize') return false;
      answer.writeHead(500).end(`Cannot POST ${url.pathname}${url.search}`);
      return true;
    };
    const outcome = await findServer(mcp).call('page', {}, { signal: calm });
    expect(outcome).toMatchObject({ error: { message: expect.stringContaining('[redacted]') } });
    expect(JSON.stringify([outcome, mcp.log.complaints, mcp.servers.conditions()])).not.toMatch(credential);
  });
});

describe('time', () => {
  it('the MCP client ends a call that takes too long, and renews its time with each progress', async () => {
    const begun = Promise.withResolvers<FakeMcpCall>();
    const handler = (call: FakeMcpCall): Promise<string> => {
      begun.resolve(call);
      return new Promise((resolve) => call.signal.addEventListener('abort', () => resolve('cancelled')));
    };
    await using both = await startBoth([{ name: 'slow', handler }], {}, { timeouts: { call_ms: 1000 } });
    const heard: unknown[] = [];
    let told = Promise.withResolvers<unknown>();
    const outcome = both.server.call(
      'slow',
      {},
      {
        signal: calm,
        onProgress: (progress) => {
          heard.push(progress);
          told.resolve(null);
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
  });

  it('the MCP client tells the server at once when a call is aborted', async () => {
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

  it('the MCP client gives up a server that never accepts a connection, or a list', async () => {
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

  it('the MCP client lets a slow server hold only calls of its own', async () => {
    await using slow = await FakeMcpServer.start([{ name: 'echo', handler: () => new Promise(() => undefined) }]);
    await using quick = await FakeMcpServer.start([{ name: 'echo' }]);
    await using mcp = await startMcp({
      servers: { slow: { url: slow.url, max_requests: 2 }, quick: { url: quick.url } },
    });
    const stop = new AbortController();
    const held = [1, 2, 3].map((n) =>
      findServer(mcp, 'slow')
        .call('echo', { n }, { signal: stop.signal })
        .catch(() => 'aborted'),
    );
    await slow.received('tools/call', 2);
    expect(await findServer(mcp, 'quick').call('echo', {}, { signal: calm })).toEqual({ output: '{}' });
    expect(slow.count('tools/call')).toBe(2);
    stop.abort();
    expect(await Promise.all(held)).toEqual(['aborted', 'aborted', 'aborted']);
  });
});
