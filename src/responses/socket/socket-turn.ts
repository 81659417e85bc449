import type { Caller } from '../../access/index.js';
import type { JsonReader } from '../../http/bodies/index.js';
import type { Connection } from '../../connections/index.js';
import type { ContinuationCache } from '../../context/index.js';
import { logRefusal } from '../../http/index.js';
import { ApiError, type ResponseObject, type StreamEvent } from '../../protocol/index.js';
import type { ForeignEvent, UpstreamNotice } from '../../providers/index.js';
import { isPromise, type MaybePromise, type Timer } from '../../time/index.js';
import { ActiveTurn } from '../turn/active-turn.js';
import type { AdmittedTurn } from '../turn/admit.js';
import type { EventSink } from '../turn/event-sink.js';
import type { StopReason } from '../turn/stop-reason.js';
import { pickVendorHeaders } from '../vendor-headers.js';
import { type ClientFrame, readFrame, requestOf } from './client-frame.js';
import { ToldHeaders } from './told-headers.js';
import type { LaneTask } from './lanes.js';
import { appendTo } from './response-append.js';
import { itemsOf, type Steer } from './steer.js';
import type { SteerableTurn, Steering } from './steering.js';

/** A request without its envelope, not validated. */
type Request = Readonly<Record<string, unknown>>;

/** The default lane's key in tables by lane. */
const DEFAULT_LANE = '';

/** The type of the event with a notice. No SDK has a prefix for types of its own; none knows this one, and all pass it on. */
const NOTICE_EVENT = 'antiphon.upstream';

/** The dependencies of a turn on its connection. */
export interface SocketTurnDependencies {
  readonly connection: Connection;
  readonly cache: ContinuationCache;
  readonly steering: Steering;
  readonly reader: JsonReader;
  /** WS_MAX_MESSAGE_BYTES. */
  readonly maxMessageBytes: number;
  /** WS_UPSTREAM_NOTICES. */
  readonly sendsNotices: boolean;

  /** Passes a turn that is first in its lane to the gateway. Resolves when the gateway has handled it. */
  dispatch(turn: SocketTurn): Promise<void>;

  /** Calls `send` after a long time without output; refresh the timer on output. */
  keepalive(send: () => void): Timer;
}

/** The message of a turn. */
export interface SocketTurnOptions {
  readonly requestId: string;
  readonly type: 'response.create' | 'response.append';
  /** Undefined is the default lane. */
  readonly streamId: string | undefined;
  readonly message: Buffer;
  readonly frame: ClientFrame;
  /** The steers whose input the frame has, in a turn that the server creates by itself; their client learns of a refusal. */
  readonly steers?: readonly Steer[];
}

/** One turn on a socket, from its message to its last event. It runs when it is first in its lane. */
export class SocketTurn implements LaneTask, EventSink, SteerableTurn {
  readonly requestId: string;
  readonly type: SocketTurnOptions['type'];
  readonly streamId: string | undefined;
  carried: readonly Steer[];
  previousResponseId: unknown;
  private readonly isSuccessor: boolean;
  private message: Buffer;
  private frame: ClientFrame | null;
  /** The end of the JSON text of each event. */
  private readonly tail: string;
  private active: ActiveTurn | null = null;
  private stopReason: StopReason | null = null;
  private state: 'waiting' | 'begun' | 'over' = 'waiting';
  private isSending = false;
  private sent: PromiseWithResolvers<undefined> | null = null;
  private keepalive: Timer | null = null;
  private free: () => void = () => undefined;
  private readonly headers: ToldHeaders = new ToldHeaders();

  constructor(
    private readonly turns: SocketTurnDependencies,
    { requestId, type, streamId, message, frame, steers }: SocketTurnOptions,
  ) {
    this.requestId = requestId;
    this.type = type;
    this.streamId = streamId;
    this.message = message;
    this.frame = frame;
    this.carried = steers ?? [];
    this.isSuccessor = steers !== undefined;
    this.tail = tailOf(streamId);
  }

  get connection(): Connection {
    return this.turns.connection;
  }

  /** With what its credential permits now. */
  get caller(): Caller {
    return this.connection.callerOf(this.requestId);
  }

  get bytes(): number {
    return this.message.length;
  }

  /** A queued turn holds only its message: the parsed frame may be twenty times as large. */
  shelve(): void {
    this.frame = null;
    this.message = ownCopy(this.message);
  }

  async run(free: () => void): Promise<void> {
    this.free = free;
    await this.turns.dispatch(this);
    // An interceptor may have ended before the turn.
    if (!this.isSending) return;
    this.sent = Promise.withResolvers();
    await this.sent.promise;
  }

  /** Stops the turn; only the first reason counts. */
  stop(reason: StopReason): void {
    this.stopReason ??= reason;
    this.active?.stop(reason);
  }

  /** The request of the turn, not validated. Throws ApiError 400; 413 for an append to too many bytes. */
  request(): MaybePromise<Request> {
    const { frame, message, turns } = this;
    const read = frame ?? readFrame(message, false, turns.reader);
    this.frame = null;
    if (this.type === 'response.create' && !isPromise(read)) return this.continued(requestOf(read));
    return this.readRequest(read);
  }

  private async readRequest(read: MaybePromise<ClientFrame>): Promise<Request> {
    const given = requestOf(await read);
    if (this.type === 'response.create') return this.continued(given);
    const { cache, reader, maxMessageBytes } = this.turns;
    const before = cache.requestOf(this.lane);
    const bytes = before?.reduce((sum, message) => sum + message.length, this.message.length) ?? 0;
    if (bytes > maxMessageBytes) {
      const message = `The request and all that was appended to it have more than ${maxMessageBytes} bytes. Send 'response.create'.`;
      throw ApiError.of('request_too_large', message, { param: 'input' });
    }
    return this.continued(await appendTo(before, given, reader));
  }

  private continued(request: Request): Request {
    this.previousResponseId = request.previous_response_id;
    const waiting = this.turns.steering.waitingFor(this.streamId, request);
    if (waiting.length === 0) return request;
    const { input } = request;
    // What cannot be joined is refused by its validation.
    if (input != null && typeof input !== 'string' && !Array.isArray(input)) return request;
    this.carried = waiting;
    const own = typeof input === 'string' ? [{ role: 'user', content: input }] : ((input ?? []) as readonly object[]);
    const joined = { ...request, input: [...itemsOf(waiting), ...own] };
    this.message = Buffer.from(JSON.stringify(joined));
    return joined;
  }

  /** Remembers the validated request for a later `response.append`. */
  rememberRequest(): void {
    const { cache } = this.turns;
    const before = this.type === 'response.append' ? (cache.requestOf(this.lane) ?? []) : [];
    cache.rememberRequest(this.lane, [...before, ownCopy(this.message)]);
  }

  /** Creates the running turn after admission. */
  activate(admitted: AdmittedTurn): ActiveTurn {
    this.active = new ActiveTurn(admitted, {
      transport: 'websocket',
      breakConnection: () => this.connection.cut(),
      continuations: this.turns.cache.lane(this.lane),
      onHeaders: (headers) => {
        this.headers.add(pickVendorHeaders(headers));
        return true;
      },
      onEvent: (event) => this.sendForeign(event),
      ...(this.turns.sendsNotices ? { onNotice: (notice) => this.sendNotice(notice) } : {}),
    });
    if (this.stopReason !== null) this.active.stop(this.stopReason);
    return this.active;
  }

  /** Runs the turn, which writes its events here. Throws the refusal before its first event. */
  async send(execute: () => Promise<unknown>): Promise<void> {
    const { connection } = this;
    this.isSending = true;
    this.keepalive = this.turns.keepalive(() => connection.writer.send(`{"type":"keepalive"${this.tail}`));
    try {
      await execute();
    } finally {
      this.keepalive.cancel();
      this.isSending = false;
      this.sent?.resolve(undefined);
    }
  }

  write(events: readonly StreamEvent[]): Promise<void> | undefined {
    const { writer } = this.connection;
    this.keepalive?.refresh();
    let written = 0;
    for (const event of events) {
      if (writer.isBehind) return this.writeSlowly(events.slice(written));
      if (this.state === 'over') return undefined;
      written += 1;
      this.writeEvent(event);
    }
    return undefined;
  }

  /**
   * Handles a refusal or an error outside the turn. Before the first event it sends an error frame and evicts a parent
   * that cannot be continued from its own lane (protocol §6.6); after it, the response fails.
   */
  fail(error: ApiError): void {
    if (this.state === 'begun') this.stop('timeout');
    if (this.state !== 'waiting') return;
    this.stop('disconnect');
    // A turn of the server's own must not cost the client its parent.
    if (!this.isSuccessor) this.evictParent();
    this.end();
    this.refuse(error);
    if (!this.isSuccessor) this.turns.steering.notContinued(this, error);
  }

  /** Answers a turn that never ran with an error frame; nothing else changes. */
  refuse(error: ApiError): void {
    const { streamId, requestId } = this;
    logRefusal(() => this.connection.id, error, requestId);
    if (this.isSuccessor) {
      this.turns.steering.refused(this, error);
      return;
    }
    this.connection.refuse(error, { streamId, requestId });
  }

  /** Throws an Error before the turn is admitted. */
  get running(): ActiveTurn {
    if (this.active === null) throw new Error('the turn is not admitted yet');
    return this.active;
  }

  private get lane(): string {
    return this.streamId ?? DEFAULT_LANE;
  }

  /** Writes to a client that has to catch up in between. */
  private async writeSlowly(batch: readonly StreamEvent[]): Promise<void> {
    const { writer } = this.connection;
    for (const event of batch) {
      if (writer.isBehind) await writer.caughtUp();
      if (this.state === 'over') return;
      this.writeEvent(event);
    }
  }

  /** What the provider tells in headers comes first: Codex must know it before any event of the turn. */
  private writeEvent(event: StreamEvent): void {
    if (this.state === 'waiting') this.begin();
    const { writer } = this.connection;
    for (const other of this.headers.take()) this.sendBeside(other);
    if (event.response === null) writer.send(event.json + this.tail);
    else this.conclude(event, event.response);
  }

  private begin(): void {
    this.state = 'begun';
    this.turns.steering.begun(this);
  }

  /** Frees the lane before the terminal event is written, so that a client that reacts at once is not refused. */
  private conclude({ json, sequenceNumber }: StreamEvent, response: ResponseObject): void {
    const { steering, connection } = this.turns;
    if (response.status === 'failed') this.evictParent();
    const late = steering.concluded(this, response);
    this.end();
    connection.writer.send(json + this.tail);
    for (const [index, { type, members }] of late.entries()) {
      connection.writer.send(`{"type":"${type}","sequence_number":${sequenceNumber + 1 + index}${members}${this.tail}`);
    }
  }

  private end(): void {
    this.state = 'over';
    this.free();
  }

  private evictParent(): void {
    const { previousResponseId } = this;
    if (typeof previousResponseId === 'string') this.turns.cache.evict(this.lane, previousResponseId);
  }

  /** An event that is not part of the response has no number of its own: those of the upstream are not ours. */
  private sendForeign({ sequence_number: _, stream_id: __, ...event }: ForeignEvent): void {
    if (this.state === 'over') return;
    // The turn may still be refused.
    if (this.state === 'waiting') this.headers.addEvent(event);
    else this.sendBeside(event);
  }

  /** It does not wait for the response, which may be refused: a client that waits is to know why. */
  private sendNotice(notice: UpstreamNotice): void {
    if (this.state === 'over') return;
    this.keepalive?.refresh();
    this.sendBeside({ type: NOTICE_EVENT, ...notice });
  }

  private sendBeside(event: object): void {
    this.connection.writer.send(JSON.stringify(event).slice(0, -1) + this.tail);
  }
}

/** The end of the JSON text of an event on a lane. */
export function tailOf(streamId: string | undefined): string {
  return streamId === undefined ? '}' : `,"stream_id":${JSON.stringify(streamId)}}`;
}

/** Copies a small message that is a slice of a large read buffer, which it would retain. */
function ownCopy(message: Buffer): Buffer {
  return message.buffer.byteLength > 2 * message.length ? Buffer.from(message) : message;
}
