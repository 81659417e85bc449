/** The floor of hostile requests: bare `node:http` that parses what it is sent, and answers any GET at once. */
import { createServer } from 'node:http';

import { listen } from './listen.ts';
import { readText } from './read-text.ts';
import { sendJson } from './send-json.ts';

const server = createServer((request, reply) => {
  if (request.method === 'GET') sendJson(reply, 200, '{}');
  else
    readText(request, (text) =>
      sendJson(reply, 200, JSON.stringify({ members: Object.keys(JSON.parse(text) as object).length })),
    );
});

listen(server, 'The floor');
