/**
 * The floor of SSE: a minimal program on bare `node:http` that sends the same events. Each event is built and serialised when it
 * is sent, with one write per turn of the event loop. It validates and saves nothing, and has no backpressure.
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
