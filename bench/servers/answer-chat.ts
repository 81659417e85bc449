import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';

import { makeStamp } from '../stamp.ts';
import { readModel } from '../upstream-traffic.ts';
import { ChatChunks } from './chat-chunks.ts';
import { sendJson } from './send-json.ts';
import { sendPaced } from './send-paced.ts';

/** Answers a request of Chat Completions with the traffic that its model name encodes; without streaming, at once. */
export function answerChat(body: string, reply: ServerResponse): void {
  const { model, stream } = JSON.parse(body) as { readonly model: string; readonly stream?: boolean };
  if (stream !== true) {
    sendJson(reply, 200, JSON.stringify(toCompletion(model)));
    return;
  }
  reply.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  sendPaced(readModel(model), new ChatChunks(model), {
    write: (frames) => reply.write(frames.join('')),
    end: (frames) => reply.end(frames.join('')),
  });
}

function toCompletion(model: string): object {
  const { deltas } = readModel(model);
  const content = makeStamp().repeat(deltas);
  return {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion',
    created: 1_795_219_200,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }],
    usage: { prompt_tokens: 8, completion_tokens: deltas, total_tokens: 8 + deltas },
  };
}
