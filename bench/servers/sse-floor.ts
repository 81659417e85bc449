/**
 * The floor of SSE: the least that a program on bare `node:http` does to send the same events. Each is an object that is built
 * and serialised when it is sent, and what belongs to one turn of the event loop leaves in one write. It checks nothing, keeps
 * nothing and never waits for a client.
 */
import { createServer } from 'node:http';

import { FloorAnswer } from './floor-answer.ts';
import type { FloorRequest } from './floor-snapshot.ts';
import { listen } from './listen.ts';
import { readText } from './read-text.ts';
import { sendSse } from './send-sse.ts';

const server = createServer((request, reply) => {
  readText(request, (text) => sendSse(FloorAnswer.of(JSON.parse(text) as FloorRequest), reply));
});

listen(server, 'The floor');
