/**
 * The floor of JSON: the least that a program on bare `node:http` does to read the same request and to send the same Response.
 * It checks nothing and keeps nothing.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import type { FloorRequest } from './floor-response.ts';
import { toJsonAnswer } from './json-answer.ts';
import { listen } from './listen.ts';
import { readText } from './read-text.ts';

const server = createServer((request, reply) => {
  readText(request, (text) => {
    const body = JSON.stringify(toJsonAnswer(JSON.parse(text) as FloorRequest));
    reply.writeHead(200, {
      'x-request-id': `req_${randomUUID()}`,
      'openai-version': '2020-10-01',
      'openai-processing-ms': '0',
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    });
    reply.end(body);
  });
});

listen(server, 'The floor');
