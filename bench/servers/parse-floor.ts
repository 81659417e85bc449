/** The floor of hostile requests: bare `node:http` that unpacks and parses what it is sent, and answers any GET at once. */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';

import { listen } from './listen.ts';
import { sendJson } from './send-json.ts';

const server = createServer((request, reply) => {
  if (request.method === 'GET') {
    sendJson(reply, 200, '{}');
    return;
  }
  void read(request).then((value) => sendJson(reply, 200, JSON.stringify({ members: Object.keys(value).length })));
});

async function read(request: IncomingMessage): Promise<object> {
  const isPacked = request.headers['content-encoding'] === 'gzip';
  return JSON.parse(await text(isPacked ? request.pipe(createGunzip()) : request)) as object;
}

listen(server, 'The floor');
