/**
 * The floor of JSON: the least that a program on bare `node:http` does to read the same request and to send the same Response.
 * It checks nothing and keeps nothing.
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
