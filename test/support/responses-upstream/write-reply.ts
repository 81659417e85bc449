import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { WebSocket } from 'ws';

import type { RefusalReply, Reply, Step, StreamReply } from './reply.js';

/** Writes a reply over HTTP. Ends early when the client hangs up. */
export async function writeHttp(response: ServerResponse, reply: Reply): Promise<void> {
  if (reply === 'hang') return;
  if ('status' in reply) {
    refuseHttp(response, reply);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', ...reply.headers });
  response.flushHeaders();
  for (const packet of toPackets(reply)) {
    if (packet instanceof Promise) await packet;
    else await writePacket(response, packet);
    if (response.destroyed) return;
  }
  if (reply.end === 'silence') return;
  if (reply.end === 'reset') response.socket?.resetAndDestroy();
  else response.end();
}

/** Refuses an HTTP request. */
export function refuseHttp(response: ServerResponse, { status, error, headers }: RefusalReply): void {
  const body = typeof error === 'string' ? error : JSON.stringify({ error });
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body);
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

type Packet = Buffer | Promise<unknown>;

function toPackets({ steps, packing }: StreamReply): readonly Packet[] {
  const packets = steps.map(toPacket);
  const bytes = packets.filter((packet) => Buffer.isBuffer(packet));
  if (packing === 'together') return [Buffer.concat(bytes)];
  return packing === 'each' ? packets : packets.flatMap(toBytes);
}

function toBytes(packet: Packet): readonly Packet[] {
  return Buffer.isBuffer(packet) ? [...packet].map((byte) => Buffer.of(byte)) : [packet];
}

function toPacket(step: Step): Packet {
  if (step.type !== undefined) return Buffer.from(`event: ${step.type}\ndata: ${JSON.stringify(step)}\n\n`);
  if (step.until !== undefined) return step.until;
  return Buffer.from(step.comment === undefined ? `data: ${step.raw ?? ''}\n\n` : `: ${step.comment}\n\n`);
}

async function writePacket(response: ServerResponse, packet: Buffer): Promise<void> {
  if (!response.write(packet)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  // A turn of the event loop sends it, another one lets a client in this process read it: packets stay packets.
  await nextLoopTurn();
  await nextLoopTurn();
}
