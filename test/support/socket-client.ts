import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';

import { type ClientOptions, WebSocket } from 'ws';

import { isSameJson, requireRule } from '../../src/testing/events/rule.js';
import { checkEventOrder, type WireEvent } from '../../src/testing/index.js';
import { Notifier } from './notifier.js';
import { Refusal, type TurnResult, type WireResponse } from './transport.js';

/** How a socket ended. */
export interface SocketEnd {
  readonly code: number;
  readonly reason: string;
}

/** An upgrade that was answered with HTTP instead. */
export interface RefusedUpgrade {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

const TERMINAL = new Set(['response.completed', 'response.failed', 'response.incomplete']);

/** Whether a frame ends a turn: its terminal event, or the error that it was refused with. */
export function isEnd({ type }: WireEvent): boolean {
  return type === 'error' || TERMINAL.has(type);
}

/** What is known of the error frame for a parent that cannot be continued (protocol §6.9). */
export function parentNotFound(id: string): { readonly type: 'error'; readonly status: 400; readonly error: object } {
  return {
    type: 'error',
    status: 400,
    error: {
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      param: 'previous_response_id',
      message: `Previous response with id '${id}' not found.`,
    },
  };
}

/** A bare WebSocket client: every frame as it came, in order, whoever it is for. */
export class SocketClient implements AsyncDisposable {
  /** Frames that nobody has asked for yet. */
  private readonly frames: WireEvent[] = [];
  private readonly changes = new Notifier();
  private ended = false;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<SocketEnd>;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      this.frames.push(JSON.parse(data.toString('utf8')) as WireEvent);
      this.changes.notify();
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.once('close', (code: number, reason: Buffer) => {
        this.ended = true;
        this.changes.notify();
        resolve({ code, reason: String(reason) });
      });
    });
  }

  /**
   * Opens a socket at a service's `/v1/responses`; rejects when the upgrade is refused. Frames are not compressed unless a test asks for it:
   * the compressors of a socket cost as much as a turn.
   */
  static async open(
    service: { readonly port: number },
    options: ClientOptions = {},
    path = '/v1/responses',
    protocols: readonly string[] = [],
  ): Promise<SocketClient> {
    const url = `ws://127.0.0.1:${service.port}${path}`;
    const client = new SocketClient(new WebSocket(url, [...protocols], { perMessageDeflate: false, ...options }));
    await once(client.socket, 'open');
    return client;
  }

  /** Asks for an upgrade that is expected to be refused. */
  static async refused(
    service: { readonly port: number },
    options: ClientOptions = {},
    path = '/v1/responses',
  ): Promise<RefusedUpgrade> {
    const socket = new WebSocket(`ws://127.0.0.1:${service.port}${path}`, options);
    socket.on('error', () => undefined);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    let text = '';
    for await (const chunk of response) text += String(chunk);
    return { status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) as unknown };
  }

  /** Sends an object as JSON, or a text or bytes as they are. */
  send(frame: object | string | Buffer): void {
    this.socket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
  }

  /** Sends a `response.create`. */
  create(body: object): void {
    this.send({ type: 'response.create', model: 'scripted', ...body });
  }

  /** The next frame of anybody. Rejects when the socket closes first. */
  async next(): Promise<WireEvent> {
    return this.take(() => true);
  }

  /** The next frame of one lane; undefined is the default lane, and what belongs to no lane. */
  async nextOf(streamId?: string): Promise<WireEvent> {
    return this.take(({ stream_id }) => stream_id === streamId);
  }

  /** The next frame of a lane that ends a turn; what comes before it is passed over. */
  async nextEnd(streamId?: string): Promise<WireEvent> {
    for (;;) {
      const frame = await this.nextOf(streamId);
      if (isEnd(frame)) return frame;
    }
  }

  /**
   * Resolves when the service has taken every frame that was sent before, and the client every frame that was written until
   * then: pings and pongs keep their place among messages.
   */
  async roundTrip(): Promise<void> {
    const answered = once(this.socket, 'pong');
    this.socket.ping();
    await answered;
  }

  /** Frames that have come and were not asked for. */
  get unread(): readonly WireEvent[] {
    return this.frames;
  }

  /** Runs a warm-up (protocol §6.4). */
  warmUp(body: { readonly stream_id?: string; readonly [member: string]: unknown }): Promise<TurnResult> {
    this.create({ ...body, generate: false });
    return this.finish(body.stream_id, { warmUp: true });
  }

  /** The rest of a turn on a lane, up to its terminal event. Rejects with Refusal for an error frame. */
  async finish(streamId?: string, { warmUp = false } = {}): Promise<TurnResult> {
    const events: WireEvent[] = [];
    for (;;) {
      const event = await this.nextOf(streamId);
      if (event.type === 'error') {
        const { headers = {}, ...error } = event['error'] as { readonly headers?: Readonly<Record<string, string>> };
        requireRule(isSameJson(event['headers'] ?? {}, headers), 'headers must stand in both places');
        throw new Refusal(event['status'] as number, { error }, headers['retry-after']);
      }
      events.push(event);
      if (TERMINAL.has(event.type)) break;
    }
    const plain = events.map(({ stream_id: _lane, ...event }) => event);
    checkEventOrder(plain, { transport: 'ws', warmUp });
    return { events: plain, response: plain.at(-1)?.['response'] as WireResponse };
  }

  /** Runs one turn on the lane that its body names. */
  turn(body: { readonly stream_id?: string; readonly [member: string]: unknown }): Promise<TurnResult> {
    this.create(body);
    return this.finish(body.stream_id);
  }

  /** The error frame that answers a `response.create`. */
  async refusal(body: { readonly stream_id?: string; readonly [member: string]: unknown }): Promise<WireEvent> {
    this.create(body);
    const frame = await this.nextOf(body.stream_id);
    if (frame.type !== 'error') throw new Error(`expected an error frame, not ${JSON.stringify(frame)}`);
    return frame;
  }

  async close(): Promise<SocketEnd> {
    this.socket.close();
    return this.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }

  private take(wanted: (frame: WireEvent) => boolean): Promise<WireEvent> {
    return this.changes.until(() => {
      const index = this.frames.findIndex(wanted);
      if (index < 0 && this.ended) throw new Error('the socket was closed before the frame came');
      return index < 0 ? undefined : this.frames.splice(index, 1)[0];
    });
  }
}
