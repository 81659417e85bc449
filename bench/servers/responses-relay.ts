/**
 * The bare relay before an upstream with the Responses API over SSE: a minimal program on bare `node:http` that gives each event
 * an id and a number of its own. It validates and saves nothing, and has no backpressure.
 */
import { Agent, createServer, request as openRequest } from 'node:http';

import { listen } from './listen.ts';
import { readText } from './read-text.ts';
import { RelayedEvents } from './relayed-events.ts';
import { SseData } from './sse-data.ts';

const upstream = new URL(`${process.env.UPSTREAM ?? ''}/v1/responses`);
const agent = new Agent({ keepAlive: true });

const server = createServer((request, reply) => {
  readText(request, (text) => {
    const body = JSON.stringify(JSON.parse(text));
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    openRequest(upstream, { method: 'POST', agent, headers }, (answer) => {
      const [data, events] = [new SseData(), new RelayedEvents(reply)];
      const take = (json: string): void => {
        if (json !== '[DONE]') events.take(json);
      };
      answer.setEncoding('utf8').on('data', (chunk: string) => data.push(chunk, take));
    }).end(body);
  });
});

listen(server, 'The relay');
