import { writeFile } from 'node:fs/promises';

import { describe, expect, it } from '@jest/globals';

import type { McpServer } from '../../src/tools/mcp/index.js';
import { type FakeMcpCall, FakeMcpServer } from '../../src/testing/index.js';
import { calm, findServer, startBoth, startMcp } from './mcp-service.js';

describe('connections', () => {
  it('the MCP client begins a new session when the server has forgotten the old one, and calls once', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    both.fake.forgetSessions();
    expect(await both.server.call('echo', { n: 1 }, { signal: calm })).toEqual({ output: '{"n":1}' });
    expect(both.fake.count('initialize')).toBe(2);
    expect(both.mcp.records.at(-1)).toMatchObject({ outcome: 'ok' });
  });

  it('the MCP client resumes a stream that has broken', async () => {
    const heard = Promise.withResolvers<unknown>();
    const handler = async (call: FakeMcpCall) => {
      call.progress(1);
      await heard.promise;
      call.drop();
      return 'late, but there';
    };
    await using both = await startBoth([{ name: 'breaks', handler }]);
    const outcome = both.server.call('breaks', {}, { signal: calm, onProgress: () => heard.resolve(null) });
    const over = outcome.then(() => true);
    const soon = (): Promise<boolean> => new Promise((resolve) => setImmediate(resolve, false));
    // The pause before the stream is asked for again begins when the break has been seen.
    while (!(await Promise.race([over, soon()]))) both.mcp.clock.advance(10);
    expect(await outcome).toEqual({ output: 'late, but there' });
    expect(both.fake.count('tools/call')).toBe(1);
  });

  it('the MCP client asks less and less often for a stream that a server ends at once and wants to be asked for again', async () => {
    await using both = await startBoth();
    let listened = 0;
    both.fake.listening = (answer) => {
      listened += 1;
      answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(`id: ${listened}\nretry: 0\ndata:\n\n`);
      return true;
    };
    await both.server.list(calm);
    const soon = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));
    // As often as the server asks for, and then after 400 ms, 800 ms, 1.6 s …
    const waitsMs = [1, 1, 1, 1, 400, 800, 1600];
    for (const [index, waitMs] of waitsMs.entries()) {
      while (listened <= index) await soon();
      const before = both.mcp.clock.now();
      while (listened === index + 1) {
        both.mcp.clock.advance(1);
        await soon();
      }
      if (waitMs > 1) expect(both.mcp.clock.now() - before).toBeGreaterThanOrEqual(waitMs);
    }
  });

  it('the MCP client ends a call whose stream ends without an answer', async () => {
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

  it('the MCP client closes the stream of a call that is over, also where the server does not', async () => {
    await using both = await startBoth();
    await both.server.list(calm);
    const closed = Promise.withResolvers<unknown>();
    both.fake.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/call') return false;
      answer.on('close', () => closed.resolve(null));
      const result = { content: [{ type: 'text', text: 'done' }] };
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      answer.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n\n`);
      return true;
    };
    expect(await both.server.call('echo', {}, { signal: calm })).toEqual({ output: 'done' });
    await closed.promise;
  });

  it('the MCP client closes a connection that nothing uses, and all at the end', async () => {
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

  it('the service has no more connections than it may: the one that was idle longest makes room', async () => {
    await using both = await startBoth(undefined, {}, { max_connections: 2 });
    const of = (tenant: string): McpServer => findServer(both.mcp, 'docs', tenant);
    for (const tenant of ['a', 'b', 'a', 'c']) await of(tenant).list(calm);
    expect(both.fake.count('initialize')).toBe(3);
    await of('a').list(calm);
    expect(both.fake.count('initialize')).toBe(3);
    await of('b').list(calm);
    expect(both.fake.count('initialize')).toBe(4);
    expect(both.mcp.servers.conditions()).toEqual([{ name: 'docs', error: null, connections: 2 }]);
  });

  it('the MCP client hears that a list has changed', async () => {
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

  it('the MCP client keeps the connections of servers whose entries stay when the file changes', async () => {
    await using fake = await FakeMcpServer.start([{ name: 'echo' }]);
    await using mcp = await startMcp({ servers: { docs: { url: fake.url }, other: { url: fake.url } } });
    await findServer(mcp, 'docs').list(calm);
    await findServer(mcp, 'other').list(calm);
    await writeFile(mcp.path, JSON.stringify({ servers: { docs: { url: fake.url } } }));
    process.emit('SIGHUP');
    while (mcp.servers.conditions().length > 1) await new Promise(setImmediate);
    expect(mcp.servers.conditions()).toEqual([{ name: 'docs', error: null, connections: 1 }]);
    expect(() => findServer(mcp, 'other')).toThrow("Missing required parameter: 'tools[0].server_url'.");
    await writeFile(mcp.path, 'servers: [');
    process.emit('SIGHUP');
    while (mcp.log.complaints.length === 0) await new Promise(setImmediate);
    expect(mcp.log.complaints.join()).toContain('the servers so far stay');
    await findServer(mcp, 'docs').list(calm);
    expect(fake.count('initialize')).toBe(2);
  });
});
