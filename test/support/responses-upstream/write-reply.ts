import type { Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { WebSocket } from 'ws';

import type { HttpReply } from '../upstream-server.js';
import type { RefusalReply, Reply, Step, StreamReply } from './reply.js';

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
