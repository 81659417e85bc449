import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import type { RawData, WebSocket } from 'ws';

import { type Reply, writeSocket } from './reply.js';

/** Members of a request, as far as tests look into them. */
export interface RequestBody {
  readonly type?: string;
  readonly model?: string;
  readonly input?: readonly Readonly<Record<string, unknown>>[];
  readonly previous_response_id?: string;
  readonly [member: string]: unknown;
}

/** A request the upstream got, over either transport. */
export interface UpstreamCall {
  readonly transport: 'sse' | 'websocket';
  /** Path and query. */
  readonly url: string;
  /** Those of the HTTP request; on a socket those of its handshake. */
  readonly headers: IncomingHttpHeaders;
  /** The body or the frame. */
  readonly body: RequestBody;
  /** Its length as it was sent, bytes; compressed bodies as they came. */
  readonly bytes: number;
  /** Which of the upstream's connections it came over, counted from 1. */
  readonly connection: number;
  /** Id of the response that answers it. */
  readonly responseId: string;
  /** All items that the model sees: of the responses that it continues, and its own. */
  readonly context: readonly unknown[];
  /** Resolves when the client hung up before the answer was over. */
  readonly closed: Promise<void>;
}

/** A request before it has an answer. */
export type PlainCall = Omit<UpstreamCall, 'context' | 'responseId'>;

/** A frame that a server would refuse, with the error it would give. */
export class UnknownParent extends Error {
  override readonly name = 'UnknownParent';
}

/** What an upstream remembers: of each response all items up to its end. */
export class ConversationState {
  private readonly contexts = new Map<string, readonly unknown[]>();
  private latest: string | null = null;

  /** `beyond` is asked for what this one does not know, such as stored responses. */
  constructor(private readonly beyond: ConversationState | null = null) {}

  /** The whole context of a request. Throws UnknownParent when it continues what nobody remembers. */
  contextOf(body: RequestBody): readonly unknown[] {
    const input = listInput(body.input);
    const parent = body.type === 'response.append' ? this.latest : (body.previous_response_id ?? null);
    if (parent === null && body.type !== 'response.append') return input;
    const before = parent === null ? undefined : this.find(parent);
    if (before === undefined) throw new UnknownParent(`Previous response with id '${parent}' not found.`);
    return [...before, ...input];
  }

  /** Remembers a response that was answered. */
  add(responseId: string, context: readonly unknown[], output: readonly unknown[]): void {
    this.contexts.set(responseId, [...context, ...output]);
    this.latest = responseId;
  }

  /** Forgets everything. */
  clear(): void {
    this.contexts.clear();
    this.latest = null;
  }

  private find(id: string): readonly unknown[] | undefined {
    return this.contexts.get(id) ?? this.beyond?.find(id);
  }
}

function listInput(input: unknown): readonly unknown[] {
  if (Array.isArray(input)) return input as readonly unknown[];
  return input === undefined ? [] : [{ type: 'message', role: 'user', content: input }];
}

/** A WebSocket at the upstream's end. */
export class UpstreamConnection {
  /** Path and query of the upgrade. */
  readonly url: string;
  /** Headers of the upgrade. */
  readonly headers: IncomingHttpHeaders;
  /** Resolves with the code when the socket is closed; 1006 without a close frame. */
  readonly closed: Promise<number>;
  /** Resolves when the client has answered a ping. */
  readonly ponged: Promise<void>;
  isOpen = true;
  /** Requests that came over it. */
  requests = 0;
  private answered: Promise<void> = Promise.resolve();

  constructor(
    private readonly socket: WebSocket,
    request: IncomingMessage,
    readonly connection: number,
    readonly state: ConversationState,
    private readonly take: (call: PlainCall) => Reply,
  ) {
    this.url = request.url ?? '';
    this.headers = request.headers;
    this.closed = new Promise((resolve) => {
      socket.once('close', (code: number) => {
        this.isOpen = false;
        resolve(code);
      });
    });
    this.ponged = new Promise((resolve) => {
      socket.once('pong', () => resolve());
    });
    socket.on('error', () => undefined);
    socket.on('message', (data) => this.receive(data));
  }

  /** Sends a frame that nobody asked for. */
  send(frame: object | string): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** Closes it with a close frame. */
  close(code = 1000): Promise<number> {
    this.socket.close(code);
    return this.closed;
  }

  /** Breaks its connection off. */
  terminate(): Promise<number> {
    this.socket.terminate();
    return this.closed;
  }

  private receive(data: RawData): void {
    this.requests += 1;
    const bytes = Buffer.from(data as Buffer);
    const before = this.answered;
    let isAnswered = false;
    const reply = this.take({
      transport: 'websocket',
      url: this.url,
      headers: this.headers,
      body: JSON.parse(bytes.toString()) as RequestBody,
      bytes: bytes.length,
      connection: this.connection,
      closed: new Promise((resolve) => {
        void this.closed.then(() => {
          if (!isAnswered) resolve();
        });
      }),
    });
    this.answered = before.then(async () => {
      await writeSocket(this.socket, reply).catch(() => this.socket.terminate());
      isAnswered = reply !== 'hang' && !('end' in reply && reply.end === 'silence');
    });
  }
}
