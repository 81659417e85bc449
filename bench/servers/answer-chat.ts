import type { ServerResponse } from 'node:http';

import { readModel } from '../upstream-traffic.ts';
import { ChatChunks } from './chat-chunks.ts';
import { sendPaced } from './send-paced.ts';

/** Answers a request of Chat Completions with the traffic that its model name encodes. */
export function answerChat(body: string, reply: ServerResponse): void {
  const { model } = JSON.parse(body) as { readonly model: string };
  reply.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  sendPaced(readModel(model), new ChatChunks(model), {
    write: (frames) => reply.write(frames.join('')),
    end: (frames) => reply.end(frames.join('')),
  });
}
