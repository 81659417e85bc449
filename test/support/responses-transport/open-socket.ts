import type { Socket } from 'node:net';

import type { WebSocket } from 'ws';

import type { Exchange } from '../../../src/providers/responses/transport/exchange.js';
import { SocketPool } from '../../../src/providers/responses/transport/socket-pool.js';
import type { UpstreamSocket } from '../../../src/providers/responses/transport/upstream-socket.js';
import { FakeClock } from '../../../src/testing/index.js';
import { addressOf, type StartedServer, startServer } from './start-server.js';

/** What the server does with a request. */
export type Answer = (socket: WebSocket, transport: Socket) => void;

/** A socket to a server of a test. */
export interface Opened {
  readonly server: StartedServer;
  readonly clock: FakeClock;
  readonly pool: SocketPool;
  readonly socket: UpstreamSocket;
  readonly controller: AbortController;
  /** The requests that the server has received. */
  readonly requests: readonly string[];
  /** Takes another socket of the conversation. */
  readonly take: () => Promise<UpstreamSocket>;
  /** Sends a request. */
  readonly ask: (frame?: string) => Promise<Exchange>;
}

const cleanUps: (() => Promise<void>)[] = [];

/** Closes all that was opened, for `afterEach`. */
export async function closeSockets(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
}

/** Opens a socket to a server that answers every request in this way. */
export async function openSocket(answer: Answer, compresses = false): Promise<Opened> {
  const requests: string[] = [];
  const server = await startServer({
    headers: ['x-reasoning-included: true'],
    compresses,
    onSocket: (socket, transport) => {
      socket.on('message', (request: Buffer) => {
        requests.push(request.toString());
        answer(socket, transport);
      });
    },
  });
  const clock = new FakeClock();
  const websockets = {
    connectTimeoutMs: 15_000,
    connections: 4,
    idleMs: 60_000,
    maxAgeMs: 3_000_000,
    healAfterMs: null,
  };
  const pool = new SocketPool({ address: addressOf(server.port), websockets: { ...websockets, compresses }, clock });
  cleanUps.push(async () => {
    await pool.destroy();
    await server[Symbol.asyncDispose]();
  });
  const controller = new AbortController();
  const { signal } = controller;
  const take = async (): Promise<UpstreamSocket> => {
    const taken = await pool.take({ conversation: 'c', headers: { 'session-id': 's' }, responseId: undefined, signal });
    if (taken === null) throw new Error('no room');
    return taken;
  };
  const socket = await take();
  const ask = (frame = '{"type":"response.create"}'): Promise<Exchange> => socket.send(frame, signal);
  return { server, clock, pool, socket, controller, requests, take, ask };
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
