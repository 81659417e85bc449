/**
 * The bare relays before an upstream, of which `RELAY` names one: minimal programs on bare `node:http` and bare `ws`. Before Chat
 * Completions it parses every chunk, and builds and serialises every event; before the Responses API it parses each event, gives it an id
 * and a number of its own, and serialises it. One write per read. They validate and save nothing, and have no backpressure.
 */
import { Agent, createServer, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';

import { WebSocket } from 'ws';

import { makeId, toChatBody } from '../traffic.ts';
import { bareSnapshots, FloorResponse, toJsonAnswer } from './answer.ts';
import { beginSse, listen, readText, sendJson, SSE_DONE, toSseFrame } from './http.ts';

const upstream = process.env.UPSTREAM ?? '';
const agent = new Agent({ keepAlive: true });

/** By the upstream. */
const RELAYS = { chat: relayChat, responses: relayResponses, sockets: relaySockets };

/** The name of a bare relay. */
export type RelayName = keyof typeof RELAYS;

function ask(path: string, body: string, take: (answer: IncomingMessage) => void): void {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  openRequest(upstream + path, { method: 'POST', agent, headers }, take).end(body);
}

/** Begins a stream; what it returns adds events, which are written once per read. */
function openReply(reply: ServerResponse): (event: { readonly type: string }) => void {
  let frames = '';
  let isDone = false;
  const flush = (): void => {
    if (isDone) reply.end(frames + SSE_DONE);
    else reply.write(frames);
    frames = '';
  };
  beginSse(reply);
  return (event) => {
    // One read of the socket emits several events in sequence; the next tick comes after all of them.
    if (frames === '') process.nextTick(flush);
    frames += toSseFrame(event);
    isDone = event.type === 'response.completed';
  };
}

const FRAME_END = '\n\n';
const PREFIX = 'data: ';

/** Reads a stream of SSE frames with one data line each, which is the last one, to the data before `[DONE]`. */
function readData(answer: IncomingMessage, take: (data: string) => void): void {
  let rest = '';
  answer.setEncoding('utf8').on('data', (text: string) => {
    const all = rest + text;
    let start = 0;
    for (let end = all.indexOf(FRAME_END); end !== -1; end = all.indexOf(FRAME_END, start)) {
      const data = all.slice(all.indexOf(PREFIX, start) + PREFIX.length, end);
      if (data !== '[DONE]') take(data);
      start = end + FRAME_END.length;
    }
    rest = all.slice(start);
  });
}

/** The members of a chunk or a completion that the relay reads. */
interface Chat {
  readonly choices: readonly { readonly delta: { readonly content?: string }; readonly message: { content: string } }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

function relayChat(body: string, reply: ServerResponse): void {
  const { model, input, stream = false } = JSON.parse(body) as { model: string; input: string; stream?: boolean };
  const path = '/v1/chat/completions';
  const request = { model, metadata: {} };
  if (!stream) {
    ask(path, toChatBody(model, false, {}, input), (answer) => {
      readText(answer, (text) => {
        const { choices, usage } = JSON.parse(text) as Chat;
        const traffic = { deltas: usage?.completion_tokens ?? 0, burst: 1 };
        const content = choices[0]?.message.content ?? '';
        sendJson(reply, 200, JSON.stringify(toJsonAnswer(request, traffic, content)));
      });
    });
    return;
  }
  const response = new FloorResponse(bareSnapshots(request));
  ask(path, toChatBody(model, true, {}, input), (answer) => {
    const add = openReply(reply);
    let isOpen = false;
    readData(answer, (data) => {
      const { choices, usage } = JSON.parse(data) as Chat;
      // Only now, so that it takes no write of its own.
      if (!isOpen) response.open().forEach(add);
      isOpen = true;
      const text = choices[0]?.delta.content;
      if (text) add(response.delta(text));
      if (usage) response.close(usage.completion_tokens).forEach(add);
    });
  });
}

/** Gives the events of one response our id and numbers. Returns whether an event was the last one. */
function toRelay(reply: ServerResponse): (json: string) => boolean {
  const add = openReply(reply);
  const id = makeId('resp');
  let sequenceNumber = 0;
  return (json) => {
    const event = JSON.parse(json) as { type: string; sequence_number: number; response?: { id: string } };
    event.sequence_number = sequenceNumber++;
    if (event.response !== undefined) event.response.id = id;
    add(event);
    return event.type === 'response.completed';
  };
}

function relayResponses(body: string, reply: ServerResponse): void {
  ask('/v1/responses', JSON.stringify(JSON.parse(body)), (answer) => readData(answer, toRelay(reply)));
}

/** Sockets that stay open. */
const idle: WebSocket[] = [];

function relaySockets(body: string, reply: ServerResponse): void {
  const frame = JSON.stringify({ type: 'response.create', ...(JSON.parse(body) as object) });
  const used = idle.pop();
  if (used !== undefined) {
    askOnSocket(used, frame, reply);
    return;
  }
  const url = `${upstream}/v1/responses`.replace('http', 'ws');
  const socket = new WebSocket(url, { perMessageDeflate: false, skipUTF8Validation: true });
  socket.once('open', () => askOnSocket(socket, frame, reply));
}

function askOnSocket(socket: WebSocket, frame: string, reply: ServerResponse): void {
  const relay = toRelay(reply);
  const take = (data: Buffer): void => {
    if (!relay(data.toString())) return;
    socket.off('message', take);
    idle.push(socket);
  };
  socket.on('message', take);
  socket.send(frame);
}

const relay = RELAYS[process.env.RELAY as RelayName];
listen(createServer((request, reply) => readText(request, (body) => relay(body, reply))));
