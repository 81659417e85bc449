import { REASONING_INCLUDED } from '../../protocol/index.js';
import type { ModelEvent } from '../model-event.js';
import type { ModelSink } from '../model-sink.js';
import { traceHeaders, type Turn } from '../turn.js';
import { withWholeCharacters } from '../upstream-http/well-formed.js';
import { AnswerBeginning } from './answer/answer-beginning.js';
import { EventReader } from './answer/event-reader.js';
import { readSafeHeaders } from './answer/header-events.js';
import { classifyHandshake, classifyHttp } from './errors/classify.js';
import { NO_RETRIES, type Repetition, Retries } from './errors/retries.js';
import { baselineAfter } from './request/baseline.js';
import { connectionHeaders, forwardedHeaders } from './request/connection-headers.js';
import { type Conversation, conversationOf, turnStateOf } from './request/conversation.js';
import { toFrame } from './request/to-frame.js';
import { toHttpBody, toRequest } from './request/to-request.js';
import { readTurnState, TURN_STATE } from './turn-state.js';
import type { UpstreamRequest } from './request/upstream-request.js';
import { FailureReport } from './failure-report.js';
import type { Session } from './sessions.js';
import { AnswerRefusedError, type Exchange, type UpstreamHeaders } from './transport/exchange.js';
import { openFixture } from './transport/open-fixture.js';
import { openSse } from './transport/sse-exchange.js';
import type { UpstreamSocket } from './transport/upstream-socket.js';
import type { Upstream } from './upstream.js';
import { type Remedy, UpstreamError } from './upstream-error.js';

/**
 * Asks an upstream to answer a turn, and writes its answer into the sink. Failed requests are repeated, as the upstream's error and
 * the retry options allow, until the first output. Rejects with the ModelError for the client, and with the signal's reason.
 */
export function askUpstream(turn: Turn, sink: ModelSink, upstream: Upstream): Promise<void> {
  return new Question(turn, sink, upstream).ask();
}

/** An attempt to get an answer: its exchange, and the socket that it uses. */
interface UpstreamExchange {
  readonly exchange: Exchange;
  /** Null over HTTP. */
  readonly socket: UpstreamSocket | null;
}

/** A turn on its way through attempts, over a WebSocket or HTTP, to an answer. */
class Question {
  private readonly conversation: Conversation;
  private readonly session: Session;
  private readonly request: UpstreamRequest;
  private readonly retries: Retries;
  /** Whether the whole context must be sent, because the upstream has forgotten the response that the turn continues. */
  private needsWhole = false;
  /** Whether output has reached the sink: from now on nothing can be repeated. */
  private hasBegun = false;
  /** Whether the turn goes over HTTP for good, whatever becomes of its session. */
  private usesHttp = false;
  /** That of the latest attempt. */
  private transport: Exchange['transport'] = 'sse';
  /** Whether the latest attempt has left out what the upstream is to know. */
  private isContinuation = false;
  private readonly report: FailureReport;

  constructor(
    private readonly turn: Turn,
    private readonly sink: ModelSink,
    private readonly upstream: Upstream,
  ) {
    const { options, sessions, clock, random } = upstream;
    this.conversation = conversationOf(turn);
    this.session = sessions.of(this.conversation.key);
    this.request = toRequest(turn, this.conversation, options);
    this.report = new FailureReport(upstream, sink);
    // With another upstream to ask, a client need not wait for this one.
    this.retries = new Retries(turn.hasOthers === true ? NO_RETRIES : options.retries, clock, random);
  }

  async ask(): Promise<void> {
    for (;;) {
      try {
        this.report.begin();
        this.isContinuation = false;
        this.sink.head?.([], false);
        await this.read((await this.openOnSocket()) ?? (await this.openOverHttp()));
        return;
      } catch (error) {
        this.sink.signal.throwIfAborted();
        // A policy has ended the answer before the upstream did.
        if (this.sink.isClosed) return;
        const failure = this.classify(error);
        const failedAt = this.upstream.clock.now();
        this.report.noteRequestId(failure.options.requestId);
        const { hasBegun } = this;
        if (hasBegun || !(await this.recover(failure))) {
          throw this.report.explain(failure, { hasBegun, wasRepeated: this.retries.hasTried });
        }
        this.sink.repeated?.(failure.code, failedAt);
        this.sink.signal.throwIfAborted();
      }
    }
  }

  /**
   * Sends the request on a socket of the conversation. Null if the provider has no WebSockets, if the session has fallen back to HTTP
   * (upstreams §1.1), or if all sockets are busy, because a turn does not wait for one.
   */
  private async openOnSocket(): Promise<UpstreamExchange | null> {
    const { sockets, statistics, options } = this.upstream;
    if (sockets === null || options.fixture !== null || this.hasFallenBack()) return null;
    this.transport = 'websocket';
    const { profile } = options;
    const { signal } = this.sink;
    const { turnState } = this;
    const socket = await sockets.take({
      conversation: this.conversation.key,
      headers: { ...connectionHeaders(this.conversation, profile), 'openai-beta': profile.websocketBeta },
      turnHeaders: {
        ...forwardedHeaders(this.turn),
        ...(profile.turnStateTo === 'handshake' ? toHeader(turnState) : {}),
      },
      responseId: this.request.parentId ?? undefined,
      signal,
    });
    if (socket === null) return null;
    try {
      const { text, isIncremental } = toFrame(this.request, this.needsWhole ? null : socket.baseline, {
        profile,
        turnState: profile.turnStateTo === 'client_metadata' ? turnState : null,
      });
      this.isContinuation = isIncremental;
      statistics.count(isIncremental ? 'websocket_requests_incremental' : 'websocket_requests_whole');
      return { exchange: await socket.send(withWholeCharacters(text), signal), socket };
    } catch (error) {
      socket.drop();
      throw error;
    }
  }

  /** Sends the request over HTTP. */
  private async openOverHttp(): Promise<UpstreamExchange> {
    const { client, options, statistics, clock } = this.upstream;
    this.transport = 'sse';
    this.isContinuation = this.parentId !== null;
    if (options.fixture !== null) return { exchange: await openFixture(options.fixture), socket: null };
    statistics.count('http_requests');
    const exchange = await openSse(client, {
      body: toHttpBody(this.request, this.parentId),
      headers: {
        ...forwardedHeaders(this.turn),
        ...traceHeaders(this.turn),
        ...connectionHeaders(this.conversation, options.profile),
        ...toHeader(this.turnState),
      },
      compresses: options.compressesRequests,
      idleMs: options.address.timeouts.idleMs,
      signal: this.sink.signal,
      clock,
    });
    return { exchange, socket: null };
  }

  /** Reads the answer into the sink. Rejects when it ends without a terminal event, and with the failure that it reports. */
  private async read({ exchange, socket }: UpstreamExchange): Promise<void> {
    const { options, clock, statistics } = this.upstream;
    const { profile, secrets } = options;
    const { transport } = exchange;
    const head = this.readHead(exchange, socket);
    const turnState = this.givenTurnState;
    const reader = new EventReader({ profile, secrets, transport, now: () => clock.now(), turnState }, statistics);
    const beginning = new AnswerBeginning(this.sink, head, transport);
    try {
      await exchange.read({
        take: (json) => reader.read(json),
        flush: () => {
          if (this.sink.isClosed && !reader.isFinished) exchange.abort();
          return this.write(beginning, reader);
        },
      });
    } catch (error) {
      socket?.drop();
      throw reader.failure ?? error;
    } finally {
      this.keepTurnState(reader.turnState);
    }
    if (reader.isFinished) {
      this.report.leftOut(reader.unread);
      if (socket !== null) this.release(socket, reader);
      return;
    }
    socket?.drop();
    throw reader.failure ?? new UpstreamError('stream closed before response.completed', { remedy: 'retry' });
  }

  /**
   * What the headers of an answer, or of a socket, tell the client before the answer (upstreams §3.1, §4.2). Those of a socket that was used
   * before are old: limits and states were those of earlier turns. The state of the turn is also told if an attempt gave it that failed.
   */
  private readHead({ transport, headers }: Exchange, socket: UpstreamSocket | null): ModelEvent {
    if (socket?.isNew === false) return this.toMetadata({ [REASONING_INCLUDED]: headers[REASONING_INCLUDED] });
    this.report.noteRequestId(headers['x-request-id']);
    this.upstream.logger.debug(`${this.report.name} answers ${this.turn.responseId}`);
    const isInEvents = transport === 'websocket' && this.upstream.options.profile.turnStateFrom === 'event';
    if (!isInEvents) this.keepTurnState(headers[TURN_STATE]);
    return this.toMetadata(headers);
  }

  private toMetadata(headers: UpstreamHeaders): ModelEvent {
    const safe = readSafeHeaders(headers, this.upstream.options.secrets);
    return { type: 'metadata', headers: { ...safe, ...toHeader(this.givenTurnState) } };
  }

  /** Writes what was read. Until the first output the request may be repeated, so that all but the head has to wait. */
  private write(beginning: AnswerBeginning, reader: EventReader): Promise<void> | undefined {
    const events = reader.take();
    if (this.hasBegun) return this.sink.write(events);
    beginning.add(events, reader);
    // A sign of life.
    if (!reader.hasOutput) return this.sink.write([]);
    this.hasBegun = true;
    return this.sink.write(beginning.events);
  }

  /** Gives a socket back, with what the next request of its conversation can build on. */
  private release(socket: UpstreamSocket, reader: EventReader): void {
    const { responseId, output } = reader;
    const isKnown = reader.isContinuable && responseId !== null && responseId !== '';
    socket.baseline = isKnown ? baselineAfter(this.request, responseId, output, this.upstream.options.profile) : null;
    socket.release();
  }

  private classify(error: unknown): UpstreamError {
    if (error instanceof UpstreamError) return error;
    if (!(error instanceof AnswerRefusedError)) throw error;
    const { options, clock } = this.upstream;
    const context = { profile: options.profile, now: clock.now() };
    return this.transport === 'websocket' ? classifyHandshake(error, context) : classifyHttp(error, context);
  }

  /** Whether the session has fallen back to HTTP, by this turn or by another one, whose place this one then takes. */
  private hasFallenBack(): boolean {
    if (this.usesHttp || !this.session.hasFallenBack(this.upstream.clock.now())) return this.usesHttp;
    this.usesHttp = true;
    this.retries.reset();
    return true;
  }

  /** Prepares another attempt and waits for its time. Returns whether there is one (upstreams §5). */
  private async recover(failure: UpstreamError): Promise<boolean> {
    const { clock } = this.upstream;
    const { signal } = this.sink;
    switch (this.remedyFor(failure)) {
      case 'none':
        return false;
      case 'http':
        this.fallBack(failure, 'silently');
        return true;
      case 'whole_context':
        if (this.needsWhole) return false;
        this.needsWhole = true;
        this.upstream.statistics.count('contexts_resent');
        return true;
      case 'retry': {
        const repetition = this.retries.next(failure);
        if (repetition !== null) {
          this.announce(repetition, failure);
          await clock.sleep(repetition.pauseMs, signal);
          return true;
        }
        const waitMs = Math.max(0, (failure.options.retryAt ?? 0) - clock.now());
        if (this.transport === 'sse' || this.turn.hasOthers === true || !this.retries.allows(waitMs)) return false;
        await clock.sleep(waitMs, signal);
        this.fallBack(failure, 'with a warning');
        return true;
      }
    }
  }

  /** The whole context helps only where it was not sent. Not every server has a code for a parent that it does not know. */
  private remedyFor({ remedy, options: { status, failure } }: UpstreamError): Remedy {
    const isForgotten = remedy === 'whole_context' || status === 404 || failure?.param === 'previous_response_id';
    if (this.isContinuation && isForgotten) return 'whole_context';
    return remedy === 'whole_context' ? 'retry' : remedy;
  }

  /** Switches the conversation to HTTP. Another turn of it may have done so already; then there is nothing to say. */
  private fallBack(failure: UpstreamError, manner: 'silently' | 'with a warning'): void {
    const { clock, sockets, statistics } = this.upstream;
    if (!this.session.fallBack(clock.now())) return;
    this.usesHttp = true;
    this.retries.reset();
    sockets?.drop(this.conversation.key);
    statistics.count('fallbacks');
    this.report.fallingBack(failure, manner);
  }

  private announce(repetition: Repetition, failure: UpstreamError): void {
    const { statistics } = this.upstream;
    if (repetition.number === null) {
      statistics.count('request_retries');
      return;
    }
    statistics.count('reconnections');
    this.report.reconnecting(repetition.number, repetition, failure);
  }

  /** The state of the turn: what the client sends back, or what the upstream gave in an earlier request of this turn. */
  private get turnState(): string | null {
    return turnStateOf(this.turn) ?? this.givenTurnState;
  }

  /** What the upstream gave in this turn. */
  private get givenTurnState(): string | null {
    return this.upstream.sessions.turnStateOf(this.turn.responseId);
  }

  private keepTurnState(state: string | readonly string[] | null | undefined): void {
    const token = readTurnState(state, this.upstream.options.secrets);
    if (token !== null) this.upstream.sessions.keepTurnState(this.turn.responseId, token);
  }

  /** The upstream's id of the response that the turn continues, if the upstream has stored it; null to send the whole context. */
  private get parentId(): string | null {
    return this.upstream.options.storesUpstream && !this.needsWhole ? this.request.parentId : null;
  }
}

function toHeader(turnState: string | null): Readonly<Record<string, string>> {
  return turnState === null ? {} : { [TURN_STATE]: turnState };
}
