import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createMcpHandler, type McpHttpHandler, McpServer as OfficialServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

import type { McpServer } from '../../src/tools/mcp/index.js';
import { calm, findServer, type McpService, startMcp } from './mcp-service.js';

let server: Server;
let handler: McpHttpHandler;
let service: McpService;
const methods: string[] = [];
let aborted = Promise.withResolvers<unknown>();

function makeServer(): OfficialServer {
  const made = new OfficialServer(
    { name: 'official', version: '1' },
    { capabilities: { tools: { listChanged: true } } },
  );
  made.registerTool(
    'add',
    {
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }),
  );
  made.registerTool('wait', { inputSchema: z.object({}) }, async (_args, context) => {
    const { signal } = context.mcpReq;
    if (!signal.aborted) await once(signal, 'abort');
    aborted.resolve(null);
    return { content: [] };
  });
  return made;
}

beforeAll(async () => {
  handler = createMcpHandler(() => makeServer());
  server = createServer((incoming, outgoing) => {
    void (async () => {
      const gone = new AbortController();
      outgoing.on('close', () => gone.abort());
      const body = incoming.method === 'POST' ? await text(incoming) : null;
      if (body !== null) methods.push((JSON.parse(body) as { readonly method: string }).method);
      const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
      const url = `http://${String(incoming.headers.host)}${String(incoming.url)}`;
      const request = new Request(url, { method: incoming.method ?? 'GET', headers, body, signal: gone.signal });
      const answer = await handler.fetch(request);
      outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
      if (answer.body === null) outgoing.end();
      else Readable.fromWeb(answer.body).pipe(outgoing);
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  service = await startMcp({ servers: { official: { url } } });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await handler.close();
  server.closeAllConnections();
  server.close();
});

const find = (): McpServer => findServer(service, 'official');

it('the MCP client speaks the newest version of the protocol with a server that has it', async () => {
  const listed = await find().list(calm);
  expect(listed.map(({ name, description, annotations }) => ({ name, description, annotations }))).toEqual([
    { name: 'add', description: 'Adds.', annotations: { readOnlyHint: true } },
    { name: 'wait', description: null, annotations: null },
  ]);
  expect(await find().call('add', { a: 1, b: 2 }, { signal: calm })).toEqual({ output: '{"sum":3}' });
  // No handshake of the older versions.
  expect(methods).not.toContain('initialize');
});

it('a call of the official server has what that says of arguments that do not fit', async () => {
  expect(await find().call('add', { a: 'x' }, { signal: calm })).toHaveProperty('error');
});

it('the MCP client cancels a call by ending its stream', async () => {
  aborted = Promise.withResolvers();
  const stop = new AbortController();
  const count = methods.length;
  const outcome = find()
    .call('wait', {}, { signal: stop.signal })
    .catch((error: unknown) => error);
  while (methods.length === count) await new Promise(setImmediate);
  stop.abort(new Error('enough'));
  expect(await outcome).toEqual(new Error('enough'));
  await aborted.promise;
});

it('the MCP client hears that the list has changed', async () => {
  const listedAt = service.clock.now();
  service.clock.advance(1);
  expect(find().isStale(listedAt)).toBe(false);
  handler.notify.toolsChanged();
  while (!find().isStale(listedAt)) await new Promise(setImmediate);
});
