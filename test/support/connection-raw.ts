import type { Socket } from 'node:net';

import { closeOf } from './connection-tracker.js';
import { Notifier } from './notifier.js';
import { openSocket } from './raw-socket.js';
import type { WireEvent } from '../../src/testing/index.js';

/** A handshake as a test words it. A header that is undefined is left out. */
export interface Handshake {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** The bytes of a handshake that is valid unless the test changes it. */
export function handshakeOf({ method = 'GET', path = '/v1/responses', headers }: Handshake = {}): string {
  const all: Readonly<Record<string, string | undefined>> = {
    host: 'localhost',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return [`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n');
}

const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
type FrameKind = keyof typeof OPCODES;

/** A frame as it was on the wire. */
export interface RawFrame {
  readonly kind: FrameKind;
  readonly payload: Buffer;
}

/** The bytes of a client's frame. Its mask is zero, so that the payload stays readable. */
export function frameOf(kind: FrameKind, payload: string | Buffer = '', { fin = true } = {}): Buffer {
  const bytes = Buffer.from(payload);
  const first = OPCODES[kind] | (fin ? 0x80 : 0);
  const mask = Buffer.alloc(4);
  if (bytes.length < 126) return Buffer.concat([Buffer.from([first, 0x80 | bytes.length]), mask, bytes]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(bytes.length));
  return Buffer.concat([Buffer.from([first, 0x80 | 127]), length, mask, bytes]);
}

/** A WebSocket client that does nothing by itself: it answers neither pings nor a close, and never leaves. */
export class RawSocketClient implements Disposable {
  /** The service's answer to the handshake. */
  head = '';
  /** Pieces in which the frames arrived. */
  chunks = 0;
  /** Resolves when the service has ended the connection. */
  readonly closed: Promise<unknown>;
  private readonly frames: RawFrame[] = [];
  /** What is no whole frame yet, as it came. */
  private pieces: Buffer[] = [];
  /** Bytes without which there is no further frame. */
  private missing = 1;
  private readonly changes = new Notifier();

  private constructor(readonly socket: Socket) {
    this.closed = closeOf(socket).then(() => this.changes.notify());
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
  }

  /** Opens a socket; throws when the upgrade is refused. */
  static async open(service: { readonly port: number }, handshake: Handshake = {}): Promise<RawSocketClient> {
    const client = new RawSocketClient(await openSocket(service.port));
    client.socket.write(handshakeOf(handshake));
    await client.until(() => client.head || undefined);
    if (!client.head.startsWith('HTTP/1.1 101 ')) throw new Error(`the upgrade was refused: ${client.head}`);
    return client;
  }

  send(kind: FrameKind, payload: string | Buffer | object = '', { fin = true } = {}): void {
    const isBytes = typeof payload === 'string' || Buffer.isBuffer(payload);
    this.socket.write(frameOf(kind, isBytes ? payload : JSON.stringify(payload), { fin }));
  }

  /** The next frame. Rejects when the connection ends first. */
  nextFrame(): Promise<RawFrame> {
    return this.until(() => this.frames.shift());
  }

  /** The next frame of a kind; others before it are dropped. Rejects when the connection ends first. */
  async next(kind: FrameKind): Promise<RawFrame> {
    for (;;) {
      const frame = await this.nextFrame();
      if (frame.kind === kind) return frame;
    }
  }

  /** The next message, read as JSON. */
  async nextEvent(): Promise<WireEvent> {
    return JSON.parse((await this.next('text')).payload.toString('utf8')) as WireEvent;
  }

  /** The code and reason with which the service closes. */
  async nextClose(): Promise<{ readonly code: number; readonly reason: string }> {
    const { payload } = await this.next('close');
    return { code: payload.readUInt16BE(), reason: payload.subarray(2).toString('utf8') };
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  private until<T>(look: () => T | undefined): Promise<T> {
    return this.changes.until(() => {
      const found = look();
      if (found !== undefined || !this.socket.closed) return found;
      throw new Error(`the connection was closed after ${this.head || 'nothing'}`);
    });
  }

  private receive(chunk: Buffer): void {
    if (this.head !== '') this.chunks += 1;
    this.pieces.push(chunk);
    this.missing -= chunk.length;
    // To join what has come with every piece of a large frame would copy it as often.
    if (this.missing > 0) return;
    let rest = Buffer.concat(this.pieces);
    if (this.head === '') {
      const end = rest.indexOf('\r\n\r\n');
      this.pieces = [rest];
      if (end < 0) return;
      this.head = rest.subarray(0, end).toString();
      rest = rest.subarray(end + 4);
    }
    if (this.head.startsWith('HTTP/1.1 101 ')) this.frames.push(...this.takeFrames(rest));
    this.changes.notify();
  }

  private *takeFrames(bytes: Buffer): Generator<RawFrame, void, undefined> {
    let rest = bytes;
    for (;;) {
      this.pieces = [rest];
      const short = (rest[1] ?? 0) & 0x7f;
      const start = short < 126 ? 2 : short === 126 ? 4 : 10;
      this.missing = start - rest.length;
      if (this.missing > 0) return;
      const length = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
      this.missing = start + length - rest.length;
      if (this.missing > 0) return;
      const opcode = (rest[0] ?? 0) & 0x0f;
      const kind = Object.entries(OPCODES).find(([, code]) => code === opcode)?.[0];
      if (kind === undefined) throw new Error(`a frame with opcode ${opcode}`);
      yield { kind: kind as FrameKind, payload: rest.subarray(start, start + length) };
      rest = rest.subarray(start + length);
    }
  }
}
