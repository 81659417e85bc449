/** The floor of token counts: bare `node:http` that parses a request and counts its messages at one go. It answers any GET at once. */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

import { listen } from './listen.ts';
import { sendJson } from './send-json.ts';

/** Tokens that frame a message. */
const FRAMING = 3;

const server = createServer((request, reply) => {
  if (request.method === 'GET') {
    sendJson(reply, 200, '{}');
    return;
  }
  void count(request).then((tokens) => sendJson(reply, 200, JSON.stringify({ input_tokens: tokens })));
});

async function count(request: IncomingMessage): Promise<number> {
  const { input } = JSON.parse(await text(request)) as { readonly input: readonly { readonly content: string }[] };
  return input.reduce((sum, { content }) => sum + FRAMING + countTokens(content), 0);
}

listen(server, 'The floor');
