/** An MCP server with one tool, made with the official package. It answers what it is asked at once. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

import { SEARCH } from '../traffic.ts';
import { listen, readText } from './http.ts';

const { name, description, path, output } = SEARCH;

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'bench', version: '1' });
  const inputSchema = z.object({ path: z.string().describe(path) });
  server.registerTool(name, { description, inputSchema }, () => ({ content: [{ type: 'text', text: output }] }));
  return server;
});

async function answer(incoming: IncomingMessage, body: string | null, reply: ServerResponse): Promise<void> {
  const { method = 'GET', headers, url } = incoming;
  const gone = new AbortController();
  reply.on('close', () => gone.abort());
  const sent = Object.entries(headers).map(([key, value]): [string, string] => [key, String(value)]);
  const request = new Request(`http://${headers.host}${url}`, { method, headers: sent, body, signal: gone.signal });
  const made = await handler.fetch(request);
  reply.writeHead(made.status, Object.fromEntries(made.headers));
  if (made.body === null) reply.end();
  else Readable.fromWeb(made.body).pipe(reply);
}

listen(
  createServer((incoming, reply) => {
    readText(incoming, (text) => void answer(incoming, text === '' ? null : text, reply));
  }),
);
