import type { Socket } from 'node:net';

import type { WebSocket } from 'ws';

import type { Exchange } from '../../../src/providers/responses/transport/exchange.js';
import type { UpstreamSocket } from '../../../src/providers/responses/transport/upstream-socket.js';
import type { ServerScript } from './start-server.js';
import { type Pooled, withPool } from './with-pool.js';

/** What the server does with a request. */
export type Answer = (socket: WebSocket, transport: Socket) => void;

/** A socket to a server of a test. */
export interface Opened extends Omit<Pooled, 'take'> {
  readonly socket: UpstreamSocket;
  /** The requests that the server has received. */
  readonly requests: readonly string[];
  /** Takes another socket of the conversation. */
  readonly take: () => Promise<UpstreamSocket>;
  /** Sends a request. */
  readonly ask: (frame?: string) => Promise<Exchange>;
}

/** Opens a socket to a server that answers every request in this way; `closePools` closes it. */
export async function openSocket(answer: Answer, compresses = false): Promise<Opened> {
  const requests: string[] = [];
  const script: ServerScript = {
    headers: ['x-reasoning-included: true'],
    compresses,
    onSocket: (socket, transport) => {
      socket.on('message', (request: Buffer) => {
        requests.push(request.toString());
        answer(socket, transport);
      });
    },
  };
  const pooled = await withPool(script, { connections: 4, maxAgeMs: 3_000_000, compresses });
  const take = (): Promise<UpstreamSocket> => pooled.take('c', { headers: { 'session-id': 's' } });
  const socket = await take();
  const ask = (frame = '{"type":"response.create"}'): Promise<Exchange> => socket.send(frame, pooled.controller.signal);
  return { ...pooled, socket, requests, take, ask };
}

/** Sends messages. */
export const sendAll =
  (...texts: readonly string[]): Answer =>
  (socket) => {
    for (const text of texts) socket.send(text);
  };

/** Frames of a server in one packet: their opcodes, and less than 126 bytes of text. */
export function packet(...frames: readonly (readonly [opcode: number, text: string])[]): Buffer {
  return Buffer.concat(frames.map(([opcode, text]) => Buffer.from([0x80 | opcode, text.length, ...Buffer.from(text)])));
}

/** Opcodes of frames. */
export const TEXT = 1;
export const BINARY = 2;
export const PING = 9;
