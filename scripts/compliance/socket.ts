import { once } from 'node:events';

import type OpenAI from 'openai';
import { WebSocket } from 'ws';

import { type Check, nullOr, object, require, text, whole } from './check.ts';
import { event } from './schemas.ts';

type Members = Readonly<Record<string, unknown>>;

interface Frame extends Members {
  readonly type: string;
}

/** What an error frame has, by the specification. */
const errorFrame: Check = object({ type: text, status: whole, error: object({ code: nullOr(text), message: text }) });

/** A WebSocket of the API, on which one turn runs after the other. */
export class Socket implements AsyncDisposable {
  private readonly frames: Frame[] = [];
  private readonly faults: Error[] = [];
  private wake = Promise.withResolvers<undefined>();
  private readonly socket: WebSocket;
  private readonly model: string;

  private constructor(socket: WebSocket, model: string) {
    this.socket = socket;
    this.model = model;
    socket.on('message', (data: Buffer) => {
      const frame = data.toString();
      try {
        this.frames.push(JSON.parse(frame) as Frame);
      } catch {
        this.faults.push(new Error(`a frame: expected JSON, but got ${frame.slice(0, 100)}`));
      }
      this.wake.resolve(undefined);
    });
    socket.on('close', () => {
      this.faults.push(new Error('the socket: expected to stay open, but it was closed'));
      this.wake.resolve(undefined);
    });
  }

  /** Opens a socket on the path of `POST /responses`. */
  static async open({ baseURL, apiKey }: OpenAI, model: string): Promise<Socket> {
    const url = `${baseURL.replace(/^http/, 'ws').replace(/\/$/, '')}/responses`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${apiKey}` } });
    await once(socket, 'open');
    return new Socket(socket, model);
  }

  /** A turn that completes; its response. */
  async complete(body: Members): Promise<Members> {
    this.create(body);
    for (let first = true; ;) {
      const frame = await this.next();
      if (frame.type === 'keepalive') continue;
      require(!/^(?:error|response\.(?:failed|incomplete))$/.test(frame.type), 'the turn', 'response.completed', frame);
      // A server may tell something of itself before the turn.
      if (frame.type === 'response.metadata' || frame.type.startsWith('codex.')) continue;
      event(frame, frame.type);
      if (first) require(frame.type === 'response.created', 'the first event', 'response.created', frame);
      if (frame.type === 'response.completed') return frame['response'] as Members;
      first = false;
    }
  }

  /** A turn that is refused; the code of its error. */
  async refuse(body: Members): Promise<unknown> {
    this.create(body);
    const frame = await this.next();
    errorFrame(frame, 'frame');
    require(frame.type === 'error', 'the frame', 'an error', frame);
    return (frame['error'] as Members)['code'];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.removeAllListeners('close');
    this.socket.close();
    await once(this.socket, 'close');
  }

  private create(body: Members): void {
    this.socket.send(JSON.stringify({ type: 'response.create', model: this.model, ...body }));
  }

  private async next(): Promise<Frame> {
    for (;;) {
      const frame = this.frames.shift();
      if (frame !== undefined) return frame;
      const [fault] = this.faults;
      if (fault !== undefined) throw fault;
      await this.wake.promise;
      this.wake = Promise.withResolvers();
    }
  }
}
