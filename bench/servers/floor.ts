/**
 * The floor: the least that a program on bare `node:http` does to send the same events. Each is an object that is built and
 * serialised when it is sent, and what belongs to one turn of the event loop leaves in one write. It checks nothing, keeps
 * nothing and never waits for a client.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { readTraffic } from '../traffic.ts';
import { FloorResponse, type FloorRequest } from './floor-response.ts';

const DONE = 'data: [DONE]\n\n';

const server = createServer((request, reply) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (body += chunk));
  request.once('end', () => answer(JSON.parse(body) as FloorRequest, reply));
});

function answer(request: FloorRequest, reply: ServerResponse): void {
  const { deltas, burst } = readTraffic(request.metadata);
  const response = new FloorResponse(request);
  let sent = 0;
  const sendBurst = (): void => {
    if (sent === deltas) {
      reply.end(response.close(deltas) + DONE);
      return;
    }
    let frames = sent === 0 ? response.open() : '';
    for (const end = Math.min(sent + burst, deltas); sent < end; sent++) frames += response.delta();
    reply.write(frames);
    setImmediate(sendBurst);
  };
  reply.writeHead(200, {
    'x-request-id': `req_${randomUUID()}`,
    'openai-version': '2020-10-01',
    'openai-processing-ms': '0',
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  });
  sendBurst();
}

server.listen(Number(process.env.PORT), process.env.HOST, () => {
  const { address, port } = server.address() as AddressInfo;
  process.stdout.write(`The floor listens on http://${address}:${port}\n`);
});
