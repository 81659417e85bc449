/**
 * The upstream: a Chat Completions server with minimal cost that writes the traffic encoded in the model name. Each delta
 * contains the time of its writing.
 */
import { createServer, type ServerResponse } from 'node:http';

import { makeStamp } from '../stamp.ts';
import { readModel } from '../upstream-traffic.ts';
import { ChatChunks } from './chat-chunks.ts';
import { listen } from './listen.ts';
import { readText } from './read-text.ts';

const server = createServer((request, reply) => {
  readText(request, (text) => {
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') reply.writeHead(404).end();
    else answer((JSON.parse(text) as { readonly model: string }).model, reply);
  });
});

function answer(model: string, reply: ServerResponse): void {
  const { deltas, burst, gapMs } = readModel(model);
  const chunks = new ChatChunks(model);
  let sent = 0;
  const takeBurst = (): string => {
    let frames = '';
    for (const end = Math.min(sent + burst, deltas); sent < end; sent++) frames += chunks.delta(makeStamp());
    return frames;
  };
  const send = (frames: string): void => {
    reply.write(frames);
    if (gapMs === 0 || sent === deltas) setImmediate(goOn);
    // Random pauses are realistic, and keep streams from staying synchronised after a delay of the server.
    else setTimeout(goOn, gapMs * (0.5 + Math.random()));
  };
  const goOn = (): void => {
    if (sent === deltas) reply.end(chunks.close(deltas));
    else send(takeBurst());
  };
  reply.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  send(chunks.open() + takeBurst());
}

// Keeps idle connections open, because closing one during a request would fail the run.
server.keepAliveTimeout = 0;
listen(server, 'The upstream');
