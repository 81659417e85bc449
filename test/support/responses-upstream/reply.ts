import type { Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { WebSocket } from 'ws';

import type { HttpReply } from '../upstream-server.js';
import { message, type UpstreamItem } from './items.js';
import { type AnswerOptions, toEvents, type UpstreamEvent } from './to-events.js';
import type { UpstreamCall } from './upstream-connection.js';

/** Something in an answer that is no event; it has one of the members. */
export interface Oddity {
  readonly type?: undefined;
  /** Data of an event, or a text frame, as it is. */
  readonly raw?: string;
  /** A comment of SSE; on a socket a ping. */
  readonly comment?: string;
  /** A binary frame; nothing over SSE. */
  readonly binary?: string;
  /** Waits for it. */
  readonly until?: Promise<unknown>;
}

/** One thing that the upstream sends in an answer. */
export type Step = UpstreamEvent | Oddity;

/** What becomes of the connection after an answer. */
export type AnswerEnd =
  /** The HTTP body ends; a socket stays open. */
  | 'done'
  /** The HTTP body ends early, or the socket's TCP connection without a close frame. */
  | 'eof'
  /** The connection is reset. */
  | 'reset'
  /** Nothing more is said, and the connection stays open. */
  | 'silence'
  /** A close frame with this code; over HTTP the body ends. */
  | { readonly close: number };

/** A stream of events. */
export interface StreamReply {
  readonly steps: readonly Step[];
  readonly end: AnswerEnd;
  /** Headers of the HTTP answer; a socket has those of its handshake. */
  readonly headers: Readonly<Record<string, string>>;
  /** How events travel: one by one, all in one packet, or every byte for itself. Sockets have frames in any case. */
  readonly packing: 'each' | 'together' | 'bytes';
}

/** A refusal: an HTTP answer with a status, or a wrapped error frame on a socket. */
export interface RefusalReply {
  readonly status: number;
  /** The error object; a text is a body of its own. */
  readonly error: object | string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the upstream does with a request. `hang` never answers, not even with a head. */
export type Reply = StreamReply | RefusalReply | 'hang';

/** How a request is answered, known once it is there. */
export type Responder = (call: UpstreamCall) => Reply;

/** How a stream is sent, beside what it says. */
export type Delivery = Partial<Omit<StreamReply, 'steps'>>;

/** A whole correct answer with these items. */
export function answering(
  items: readonly UpstreamItem[] | ((call: UpstreamCall) => readonly UpstreamItem[]),
  options: AnswerOptions & Delivery = {},
): Responder {
  return (call) => {
    const said = typeof items === 'function' ? items(call) : items;
    return streaming(toEvents(call.responseId, said, options), options);
  };
}

/** The answer of a responder with these steps before its own. */
export function preceded(responder: Responder, ...steps: readonly Step[]): Responder {
  return (call) => {
    const reply = responder(call);
    if (reply === 'hang' || 'status' in reply) throw new Error('only a stream can have steps before it');
    return { ...reply, steps: [...steps, ...reply.steps] };
  };
}

/** A stream of these steps. */
export function streaming(steps: readonly Step[], delivery: Delivery = {}): StreamReply {
  return { end: 'done', headers: {}, packing: 'each', ...delivery, steps };
}

/** A whole correct answer with these items, its events changed by the test. */
export function changing(
  items: readonly UpstreamItem[],
  change: (events: readonly UpstreamEvent[]) => readonly Step[],
  delivery: Delivery = {},
): Responder {
  return ({ responseId }) => streaming(change(toEvents(responseId, items)), delivery);
}

/** A whole answer with the text `Hello`, its events changed by the test. */
export function saying(change: Parameters<typeof changing>[1], delivery: Delivery = {}): Responder {
  return changing([message('Hello')], change, delivery);
}

/** A stream that breaks off behind its first `count` events. */
export function cutting(items: readonly UpstreamItem[], count: number, end: AnswerEnd): Responder {
  return ({ responseId }) => streaming(toEvents(responseId, items).slice(0, count), { end });
}

/** A stream that says no more than why it failed. */
export function failing(error: object, delivery: Delivery = {}): Responder {
  return ({ responseId }) =>
    streaming(toEvents(responseId, [], { terminal: 'response.failed', response: { error, usage: null } }), delivery);
}

/** A refusal in the form of OpenAI's. */
export function refusing(status: number, error: object | string = {}, headers = {}): RefusalReply {
  const whole = typeof error === 'string' ? error : { type: 'upstream_error', code: null, message: 'No.', ...error };
  return { status, error: whole, headers };
}

/** A reply as it is written over HTTP. */
export function toHttpReply(reply: Reply): HttpReply {
  if (reply === 'hang') return 'silent';
  if ('status' in reply) {
    const headers = { 'content-type': 'application/json', ...reply.headers };
    return { status: reply.status, headers, packets: [Buffer.from(bodyOf(reply))], end: 'end' };
  }
  const headers = { 'content-type': 'text/event-stream', ...reply.headers };
  const end = reply.end === 'silence' ? 'stall' : reply.end === 'reset' ? 'reset' : 'end';
  return { status: 200, headers, packets: toPackets(reply), end };
}

/** Refuses an upgrade over its connection. */
export function refuseUpgrade(socket: NodeJS.WritableStream, refusal: RefusalReply): void {
  const body = bodyOf(refusal);
  const all = { connection: 'close', 'content-length': String(Buffer.byteLength(body)), ...refusal.headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.status} No\r\n${lines.join('')}\r\n${body}`);
}

/** Writes a reply on a socket. Ends early when the client hangs up. */
export async function writeSocket(socket: WebSocket, reply: Reply): Promise<void> {
  if (reply === 'hang') return;
  if ('status' in reply) {
    const { status, error, headers } = reply;
    socket.send(typeof error === 'string' ? error : JSON.stringify({ type: 'error', status, error, headers }));
    return;
  }
  for (const step of reply.steps) {
    if (socket.readyState !== socket.OPEN) return;
    await sendStep(socket, step);
  }
  // What was sent is read before the connection breaks.
  await nextLoopTurn();
  if (reply.end === 'eof') rawSocketOf(socket).end();
  if (reply.end === 'reset') rawSocketOf(socket).resetAndDestroy();
  if (typeof reply.end === 'object') socket.close(reply.end.close);
}

/** `ws` has no door to break a connection without a close frame. */
function rawSocketOf(socket: WebSocket): Socket {
  return (socket as unknown as { readonly _socket: Socket })._socket;
}

async function sendStep(socket: WebSocket, step: Step): Promise<void> {
  if (step.type !== undefined) socket.send(JSON.stringify(step));
  else if (step.until !== undefined) await step.until;
  else if (step.comment !== undefined) socket.ping(step.comment);
  else if (step.binary !== undefined) socket.send(Buffer.from(step.binary));
  else socket.send(step.raw ?? '');
}

function bodyOf({ error }: RefusalReply): string {
  return typeof error === 'string' ? error : JSON.stringify({ error });
}

type Packet = Buffer | Promise<unknown>;

function toPackets({ steps, packing }: StreamReply): readonly Packet[] {
  const packets = steps.map(toPacket);
  if (packing === 'together') return [Buffer.concat(packets.filter((packet) => Buffer.isBuffer(packet)))];
  if (packing === 'each') return packets;
  return packets.flatMap((packet): readonly Packet[] =>
    Buffer.isBuffer(packet) ? [...packet].map((byte) => Buffer.of(byte)) : [packet],
  );
}

function toPacket(step: Step): Packet {
  if (step.type !== undefined) return Buffer.from(`event: ${step.type}\ndata: ${JSON.stringify(step)}\n\n`);
  if (step.until !== undefined) return step.until;
  return Buffer.from(step.comment === undefined ? `data: ${step.raw ?? ''}\n\n` : `: ${step.comment}\n\n`);
}
