/**
 * The bare relay: a minimal program on bare `node:http` that translates the same upstream into the same events. It parses every
 * chunk, builds and serialises every event, and writes once per read. It validates and saves nothing, and has no backpressure.
 */
import { Agent, createServer, request as openRequest, type IncomingMessage, type ServerResponse } from 'node:http';

import { toChatBody } from '../upstream-traffic.ts';
import { FloorResponse } from './floor-response.ts';
import { FloorSnapshots } from './floor-snapshot.ts';
import { listen } from './listen.ts';
import { readText } from './read-text.ts';
import { relayJson } from './relay-json.ts';
import { SseData } from './sse-data.ts';
import { SSE_DONE, toSseFrame, toSseFrames, toSseHeaders } from './sse-format.ts';

/** The members of a request that the relay reads. */
interface Question {
  readonly model: string;
  readonly input: string;
  readonly stream?: boolean;
}

/** The members of a chunk that the relay reads. */
interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

const upstream = new URL(`${process.env.UPSTREAM ?? ''}/v1/chat/completions`);
const agent = new Agent({ keepAlive: true });

const server = createServer((request, reply) => {
  readText(request, (text) => {
    const asked = JSON.parse(text) as Question;
    if (asked.stream === true) ask(asked, reply);
    else relayJson(asked.model, asked.input, { url: upstream, agent }, reply);
  });
});

function ask({ model, input }: Question, reply: ServerResponse): void {
  const body = toChatBody(model, input);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const response = new FloorResponse(new FloorSnapshots({ model, metadata: {} }));
  const question = openRequest(upstream, { method: 'POST', agent, headers }, (answer) =>
    relay(answer, response, reply),
  );
  question.end(body);
}

function relay(answer: IncomingMessage, response: FloorResponse, reply: ServerResponse): void {
  const data = new SseData();
  let frames = toSseFrames(response.open());
  let outputTokens = 0;
  let isDone = false;
  let isFlushing = false;
  const take = (payload: string): void => {
    if (payload === '[DONE]') {
      isDone = true;
      return;
    }
    const { choices, usage } = JSON.parse(payload) as Chunk;
    const text = choices[0]?.delta.content;
    if (text) frames += toSseFrame(response.delta(text));
    if (usage) outputTokens = usage.completion_tokens;
  };
  const flush = (): void => {
    isFlushing = false;
    if (isDone) reply.end(frames + toSseFrames(response.close(outputTokens)) + SSE_DONE);
    else if (frames !== '') reply.write(frames);
    frames = '';
  };
  reply.writeHead(200, toSseHeaders());
  answer.setEncoding('utf8');
  answer.on('data', (text: string) => {
    data.push(text, take);
    // One read of the socket emits several of these events in sequence; the next tick comes after all of them.
    if (!isFlushing) process.nextTick(flush);
    isFlushing = true;
  });
}

listen(server, 'The relay');
