import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { expect } from '@jest/globals';
import { type WebSocket, WebSocketServer } from 'ws';

import type { Exchange } from '../../../src/providers/responses/transport/exchange.js';
import type { WantedSocket } from '../../../src/providers/responses/transport/pool-options.js';
import { SocketPool } from '../../../src/providers/responses/transport/socket-pool.js';
import type { UpstreamSocket } from '../../../src/providers/responses/transport/upstream-socket.js';
import type { UpstreamAddress } from '../../../src/providers/upstream-http/upstream-client.js';
import { FakeClock } from '../../../src/testing/index.js';
import { whenStill } from '../chat-upstream/when-still.js';
import { LocalServer } from '../local-server.js';

/** What a server of a test does. */
export interface ServerScript {
  readonly onRequest?: RequestListener;
  /** A WebSocket was accepted; `transport` is the connection below it. */
  readonly onSocket?: (socket: WebSocket, transport: Socket, request: IncomingMessage) => void;
  /** Takes upgrades itself. */
  readonly onUpgrade?: (request: IncomingMessage, transport: Socket) => void;
  /** Headers of the answer to a handshake. */
  readonly headers?: readonly string[];
  readonly compresses?: boolean;
}

/** A server that behaves as a script says. */
export class StartedServer extends LocalServer {
  /** The handshakes that were accepted. */
  readonly handshakes: IncomingMessage[] = [];
  private readonly upgrades: WebSocketServer;

  constructor(script: ServerScript) {
    const server = createServer({ keepAliveTimeout: 0 }, script.onRequest);
    super(server);
    this.upgrades = new WebSocketServer({ noServer: true, perMessageDeflate: script.compresses ?? false });
    this.upgrades.on('headers', (headers) => headers.push(...(script.headers ?? [])));
    server.on('upgrade', (request: IncomingMessage, transport: Socket, head) => {
      if (script.onUpgrade !== undefined) {
        script.onUpgrade(request, transport);
        return;
      }
      this.upgrades.handleUpgrade(request, transport, head, (socket) => {
        this.handshakes.push(request);
        socket.on('error', () => undefined);
        script.onSocket?.(socket, transport, request);
      });
    });
  }

  /** The WebSockets that are open. */
  get sockets(): ReadonlySet<WebSocket> {
    return this.upgrades.clients;
  }
}

/** Starts a server that behaves as the script says. */
export function startServer(script: ServerScript): Promise<StartedServer> {
  return new StartedServer(script).listen();
}

/** The address of a server of a test. */
export function addressOf(port: number, changes: Partial<UpstreamAddress> = {}): UpstreamAddress {
  return {
    baseUrl: `http://127.0.0.1:${port}/v1/`,
    headers: { authorization: 'Bearer key' },
    query: { 'api-version': '1' },
    timeouts: { connectMs: 10_000, firstByteMs: 20_000, idleMs: 300_000 },
    connections: 8,
    ...changes,
  };
}

export const LIMITS = { connectTimeoutMs: 15_000, connections: 2, idleMs: 60_000, maxAgeMs: 1_000_000 };
const COMPLETED = '{"type":"response.completed"}';

/** Answers every request at once. */
export const ANSWERING: ServerScript = {
  onSocket: (socket) => socket.on('message', () => socket.send(COMPLETED)),
};

/** A pool, its server and its clock. */
export interface Pooled {
  readonly server: StartedServer;
  readonly clock: FakeClock;
  readonly pool: SocketPool;
  readonly controller: AbortController;
  readonly take: (conversation: string, changes?: Partial<WantedSocket>) => Promise<UpstreamSocket>;
  readonly tryTake: (conversation: string, changes?: Partial<WantedSocket>) => Promise<UpstreamSocket | null>;
}

const cleanUps: (() => Promise<void>)[] = [];

/** Closes what the test has opened: run it after each. */
export async function closePools(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
}

/** A pool of at most two sockets to a server, unless it is told otherwise; `closePools` closes both. */
export async function withPool(
  script: ServerScript = ANSWERING,
  { port, ...options }: Partial<typeof LIMITS> & { readonly port?: number; readonly compresses?: boolean } = {},
): Promise<Pooled> {
  const server = await startServer(script);
  const clock = new FakeClock();
  const websockets = { ...LIMITS, healAfterMs: null, compresses: false, ...options };
  const pool = new SocketPool({ address: addressOf(port ?? server.port), websockets, clock });
  cleanUps.push(async () => {
    await pool.destroy();
    await server[Symbol.asyncDispose]();
  });
  const controller = new AbortController();
  const { signal } = controller;
  const tryTake: Pooled['tryTake'] = (conversation, changes) =>
    pool.take({ conversation, headers: {}, responseId: undefined, signal, ...changes });
  const take: Pooled['take'] = async (...wanted) => {
    const socket = await tryTake(...wanted);
    if (socket === null) throw new Error('no room');
    return socket;
  };
  return { server, clock, pool, controller, take, tryTake };
}

/** Resolves when the server has no more open sockets than this. */
export async function serverHas(server: StartedServer, count: number): Promise<void> {
  while (server.sockets.size > count) await nextLoopTurn();
  await whenStill(() => server.sockets.size);
  expect(server.sockets.size).toBe(count);
}

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
