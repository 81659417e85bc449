/**
 * The floor of JSON: a minimal program on bare `node:http` that reads the same request and sends the same Response. It validates
 * and saves nothing.
 */
import { createServer } from 'node:http';

import type { FloorRequest } from './floor-snapshot.ts';
import { toJsonAnswer } from './json-answer.ts';
import { listen } from './listen.ts';
import { readText } from './read-text.ts';
import { sendJson } from './send-json.ts';

const server = createServer((request, reply) => {
  readText(request, (text) => {
    sendJson(reply, 200, JSON.stringify(toJsonAnswer(JSON.parse(text) as FloorRequest)));
  });
});

listen(server, 'The floor');
