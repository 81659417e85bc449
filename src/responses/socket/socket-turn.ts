import type { Caller } from '../../access/index.js';
import type { Connection } from '../../connections/index.js';
import type { ContinuationCache } from '../../context/index.js';
import { type ApiError, type CreateResponseRequest, type StreamEvent, toErrorFrame } from '../../protocol/index.js';
import type { Timer } from '../../time/index.js';
import { pickVendorHeaders } from '../vendor-headers.js';
import type { TurnControl } from '../responses.service.js';
import { type ClientFrame, requestOf } from './client-frame.js';
import type { LaneTask } from './lanes.js';
import type { AppendableRequests } from './appendable-requests.js';

/** The default lane's key in tables by lane. */
const DEFAULT_LANE = '';

type Batches = AsyncGenerator<readonly StreamEvent[], void, undefined>;

/** What a turn needs of the session it belongs to. */
export interface TurnHost {
  readonly connection: Connection;
  /** Aborts when the connection's turns are to stop. */
  readonly signal: AbortSignal;
  readonly cache: ContinuationCache;
  readonly requests: AppendableRequests;

  /** Hands a turn that is at the head of its lane to the gateway. Resolves when it is over. */
  dispatch(turn: SocketTurn): Promise<void>;

  /** Calls `send` when the turn has been silent for long; refresh it when the turn says something. */
  keepalive(send: () => void): Timer;
}

/** One turn on a socket, from its frame to its last event. Exists from when the frame came; runs at the head of its lane. */
export class SocketTurn implements LaneTask {
  private readonly closing: string;
  private free: () => void = () => undefined;
  private previousResponseId: unknown;
  private headers: Readonly<Record<string, string>> | null = null;

  constructor(
    readonly session: TurnHost,
    readonly caller: Caller,
    readonly type: 'response.create' | 'response.append',
    readonly streamId: string | undefined,
    private readonly frame: ClientFrame,
    readonly bytes: number,
  ) {
    this.closing = streamId === undefined ? '}' : `,"stream_id":${JSON.stringify(streamId)}}`;
  }

  async run(free: () => void): Promise<void> {
    this.free = free;
    await this.session.dispatch(this);
  }

  /** The request of a `response.create`. Throws ApiError 400. */
  request(): Readonly<Record<string, unknown>> {
    const request = requestOf(this.frame);
    this.previousResponseId = request.previous_response_id;
    return request;
  }

  /**
   * The request of a `response.append`: the lane's last one with more input. Throws ApiError 400 when there is none.
   */
  appendedRequest(): Readonly<Record<string, unknown>> {
    const request = this.session.requests.append(this.lane, requestOf(this.frame).input);
    this.previousResponseId = request.previous_response_id;
    return request;
  }

  /** Keeps a validated request for a `response.append` to come. */
  keep(request: CreateResponseRequest): void {
    const { requests } = this.session;
    const before = this.type === 'response.append' ? requests.bytesOf(this.lane) : 0;
    requests.keep(this.lane, request, before + this.bytes);
  }

  /** What the road of a turn needs of its transport. */
  get control(): TurnControl {
    return {
      signal: this.session.signal,
      continuations: this.session.cache.lane(this.lane),
      onHeaders: (headers) => this.addHeaders(pickVendorHeaders(headers)),
    };
  }

  /**
   * Sends a turn's events. The lane is free before the terminal event is written, so that who answers it at once is not
   * refused. Throws what the turn was refused with before its first event.
   */
  async send(batches: Batches): Promise<void> {
    const { writer } = this.session.connection;
    const keepalive = this.session.keepalive(() => writer.send([`{"type":"keepalive"${this.closing}`]));
    try {
      for await (const batch of batches) {
        const response = batch.at(-1)?.response ?? null;
        if (response?.status === 'failed') this.evictParent();
        if (response !== null) this.free();
        writer.send(this.encode(batch));
        // What the client still has to read of a finished turn is no business of the turn.
        if (response !== null) return;
        keepalive.refresh();
        if (writer.isBehind) await writer.caughtUp();
      }
    } finally {
      keepalive.cancel();
      await batches.return();
    }
  }

  /** Answers with an error frame instead. A parent that cannot be continued on its own lane is forgotten (protocol §6.6). */
  fail(error: ApiError): void {
    this.evictParent();
    this.free();
    this.refuse(error);
  }

  /** Answers with an error frame, for a turn that never got its turn: that changes nothing else. */
  refuse(error: ApiError): void {
    const { streamId, caller } = this;
    this.session.connection.writer.send([toErrorFrame(error, { streamId, requestId: caller.requestId })]);
  }

  private get lane(): string {
    return this.streamId ?? DEFAULT_LANE;
  }

  private evictParent(): void {
    const { previousResponseId } = this;
    if (typeof previousResponseId === 'string') this.session.cache.evict(this.lane, previousResponseId);
  }

  private addHeaders(headers: Readonly<Record<string, string>>): void {
    if (Object.keys(headers).length > 0) this.headers = { ...this.headers, ...headers };
  }

  /** On a socket a provider's headers travel in a frame of their own, as Codex reads them. */
  private encode(batch: readonly StreamEvent[]): readonly string[] {
    const messages = batch.map(({ json }) => json + this.closing);
    if (this.headers === null) return messages;
    const metadata = `{"type":"response.metadata","headers":${JSON.stringify(this.headers)}${this.closing}`;
    this.headers = null;
    // In front of the last one, which may be the terminal event: nothing may follow that.
    return messages.toSpliced(-1, 0, metadata);
  }
}
