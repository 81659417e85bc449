import { type Agent, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';

import { toJsonChatBody } from '../upstream-traffic.ts';
import { makeId, toMessage, toOutputText } from './floor-items.ts';
import { toSnapshot, toUsage } from './floor-snapshot.ts';
import { readText } from './read-text.ts';
import { sendJson } from './send-json.ts';

/** The members of a chat completion that the relay reads. */
interface Completion {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

/** Where the relay asks. */
interface Upstream {
  readonly url: URL;
  readonly agent: Agent;
}

/** Asks the upstream without streaming, and answers with a Response that has all members that the service sends. */
export function relayJson(model: string, input: string, { url, agent }: Upstream, reply: ServerResponse): void {
  const body = toJsonChatBody(model, input);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  openRequest(url, { method: 'POST', agent, headers }, (answer: IncomingMessage) => {
    readText(answer, (text) => {
      sendJson(reply, 200, JSON.stringify(toResponse(model, JSON.parse(text) as Completion)));
    });
  }).end(body);
}

function toResponse(model: string, { choices, usage }: Completion): object {
  const text = choices[0]?.message.content ?? '';
  const snapshot = toSnapshot({
    id: makeId('resp'),
    createdAt: Math.floor(Date.now() / 1000),
    model,
    metadata: {},
    status: 'completed',
    output: [toMessage(makeId('msg'), 'assistant', toOutputText(text))],
    usage: toUsage(usage.prompt_tokens, usage.completion_tokens),
  });
  return { ...snapshot, output_text: text };
}
