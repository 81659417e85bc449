/** The floor of SSE without building and serialising events: the same bytes, precomputed. */
import { createServer } from 'node:http';

import { listen } from './listen.ts';
import { PrecomputedAnswers } from './precomputed-answers.ts';
import { readText } from './read-text.ts';
import { SSE_DONE, toSseFrames, toSseHeaders } from './sse-format.ts';

const answers = new PrecomputedAnswers((events, isLast) => Buffer.from(toSseFrames(events) + (isLast ? SSE_DONE : '')));

const server = createServer((request, reply) => {
  readText(request, (body) => {
    reply.writeHead(200, toSseHeaders());
    answers.send(body, (chunk, isLast) => {
      if (isLast) reply.end(chunk);
      else reply.write(chunk);
    });
  });
});

listen(server, 'The floor of precomputed bytes');
