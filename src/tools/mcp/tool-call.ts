import type { CallToolResult } from '@modelcontextprotocol/client';
import type { EventSourceMessage } from 'eventsource-parser';

import { isFailure } from '../../providers/index.js';
import { isObject, parseJson } from '../../validation/index.js';
import type { AnswerHead } from './answer-head.js';
import {
  closed,
  isOfLostSession,
  isPage,
  McpFailure,
  NOT_VALID,
  notValid,
  SessionGoneError,
  toConnectionFailure,
  webPage,
} from './failures.js';
import type { AnswerListener, HttpAnswer } from './http-answer.js';
import type { McpProgress } from './mcp-server.js';

/**
 * The server misses a header that repeats an argument: it has not handled the call. Before 2026-07-28 this is an error like others, of a call
 * that may have been handled.
 */
const HEADER_MISMATCH = -32_020;

/** A call that the server has not handled, and that the library of the protocol must send. */
export class NotHandledError extends Error {}

/** How often a broken stream is asked for again, and the pauses between, ms. */
export interface Resumption {
  readonly maxRetries: number;
  readonly initialReconnectionDelay: number;
  readonly reconnectionDelayGrowFactor: number;
  readonly maxReconnectionDelay: number;
}

/** The tokens of a connection. */
export interface CallTokens {
  token(): Promise<string>;
  /** The server has refused one; null for the one of a request that brought none. */
  refused(token: string | null): void;
}

/** A request of a call; the headers are those that differ between its requests. */
export interface CallRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** What a call is sent over: the connection that it belongs to. */
export interface CallChannel {
  /** Whether the protocol is that of 2026-07-28 or later. */
  readonly isModern: boolean;
  readonly hasSession: boolean;
  /** Null without. */
  readonly tokens: CallTokens | null;
  readonly resumption: Resumption;
  send(request: CallRequest, token: string | null, listener: AnswerListener): HttpAnswer;
  /** Takes a message that has come with a call, which may belong to another one, or to none. Throws for what is no message. */
  receive(message: unknown): void;
  /** Waits before a stream is asked for again; returns what ends the pause. */
  pause(delayMs: number, reconnect: () => void): () => void;
  /** Tells the server that a call is not wanted any more. */
  cancel(id: number, reason: unknown): void;
  /** Whether an answer sends the call elsewhere, where the library of the protocol follows: then that sends all calls. */
  redirects(head: AnswerHead): boolean;
  ended(id: number): void;
}

/** A call that waits for its answer: a request, and others for the rest of its stream where that has broken. */
export class ToolCall implements AnswerListener {
  private readonly settled = Promise.withResolvers<CallToolResult>();
  private isOver = false;
  private answer: HttpAnswer | null = null;
  /** Whether its token was replaced. */
  private hasNewToken = false;
  /** The token that it was sent with; null without. */
  private token: string | null = null;
  private lastEventId: string | null = null;
  private retryMs: number | null = null;
  /** Attempts to resume its stream that have failed. */
  private attempts = 0;
  private endPause: (() => void) | null = null;

  constructor(
    private readonly id: number,
    private readonly request: CallRequest,
    private readonly channel: CallChannel,
    private readonly signal: AbortSignal,
    private readonly onProgress: (progress: McpProgress) => void,
  ) {}

  /** Sends the request, once. */
  run(): Promise<CallToolResult> {
    const { signal } = this;
    if (signal.aborted) {
      this.end(signal.reason);
    } else {
      signal.addEventListener('abort', this, { once: true });
      this.send(this.request);
    }
    return this.settled.promise;
  }

  /** The signal has aborted. */
  handleEvent(): void {
    const { id, channel, signal } = this;
    this.end(signal.reason);
    channel.cancel(id, signal.reason);
  }

  /** The answer to the call. */
  answered({ result, error }: Readonly<Record<string, unknown>>): void {
    if (this.isOver) return;
    // Some servers write an error into every answer, as `false` or as an object without any.
    if (isFailure(error)) {
      const { code, message } = readError(error);
      const isNotHandled = code === HEADER_MISMATCH && this.channel.isModern;
      this.end(isNotHandled ? new NotHandledError() : McpFailure.ofError(code, message));
      return;
    }
    try {
      this.settled.resolve(toResult(result, this.channel.isModern));
      this.leave();
    } catch (failure) {
      this.end(failure);
    }
  }

  /** A notification of how far it has come. */
  progressed({ progress, total, message }: Readonly<Record<string, unknown>>): void {
    if (this.isOver || typeof progress !== 'number') return;
    this.onProgress({
      progress,
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    });
  }

  onEvent({ id, event = 'message', data }: EventSourceMessage): void {
    if (id !== undefined && id !== '') this.lastEventId = id;
    if (event !== 'message' || data === '') return;
    try {
      this.take(parseJson(data));
    } catch {
      // Not a message: the stream may go on with one.
    }
  }

  onRetry(delayMs: number): void {
    this.retryMs = delayMs;
  }

  onFailure(answer: HttpAnswer, error: unknown): void {
    if (this.isOver) return;
    if (error instanceof McpFailure) this.end(error);
    else if (this.lastEventId !== null) this.resume();
    else if (answer.isEvents) this.end(withoutAnswer());
    else this.end(toConnectionFailure(error));
  }

  onEnd(head: AnswerHead, text: string | null): void {
    if (this.isOver) return;
    if (text === null) {
      // The server is there: its next stream has all attempts again.
      this.attempts = 0;
      if (this.lastEventId === null) this.end(withoutAnswer());
      else this.resume();
      return;
    }
    if (head.status >= 300) this.refused(head, text);
    else this.readWhole(text);
  }

  /** Whatever type it names: some servers name that of a page, or none. */
  private readWhole(text: string): void {
    const message = parseJson(text);
    try {
      for (const each of Array.isArray(message) ? (message as unknown[]) : [message]) this.take(each);
    } catch {
      this.end(isPage(text) ? webPage() : notValid());
    }
    // Whatever it was, it was no answer to the call.
    if (!this.isOver) this.end(withoutAnswer());
  }

  /** Takes a message that has come in answer to the request. Throws for what is no message. */
  private take(message: unknown): void {
    const isFailed = isObject(message) && message['method'] == null && isFailure(message['error']);
    // A server that cannot read the request, or does not like it, need not know its id.
    if (isFailed && message['id'] == null) this.answered(message);
    else this.channel.receive(message);
  }

  /** An answer that is none: the server has not handled the call, or not well. */
  private refused(head: AnswerHead, text: string): void {
    const { channel, lastEventId } = this;
    const { status } = head;
    if (status === 401 && channel.tokens !== null && !this.hasNewToken) {
      this.hasNewToken = true;
      channel.tokens.refused(this.token);
      if (lastEventId === null) this.send(this.request);
      else this.resume();
    } else if (lastEventId !== null) {
      if (status === 405) this.end(withoutAnswer());
      else this.resume();
    } else if (channel.hasSession && isOfLostSession(status, text)) {
      this.end(new SessionGoneError(status, text));
    } else if (channel.redirects(head)) {
      this.end(new NotHandledError());
    } else {
      const message = channel.isModern && status === 400 ? parseJson(text) : undefined;
      if (isObject(message) && message['id'] === this.id && isObject(message['error'])) this.answered(message);
      this.end(McpFailure.ofStatus(status, text));
    }
  }

  /** Ends the call without a result. */
  end(reason: unknown): void {
    if (this.isOver) return;
    this.settled.reject(reason);
    this.leave();
  }

  private leave(): void {
    this.isOver = true;
    this.signal.removeEventListener('abort', this);
    this.endPause?.();
    this.answer?.leave();
    this.channel.ended(this.id);
  }

  /** Asks for the rest of a broken stream, after a pause. */
  private resume(): void {
    const { maxRetries, initialReconnectionDelay, reconnectionDelayGrowFactor, maxReconnectionDelay } =
      this.channel.resumption;
    if (this.attempts >= maxRetries) {
      this.end(withoutAnswer());
      return;
    }
    const delayMs = initialReconnectionDelay * reconnectionDelayGrowFactor ** this.attempts;
    this.attempts += 1;
    this.endPause = this.channel.pause(this.retryMs ?? Math.min(delayMs, maxReconnectionDelay), () => {
      const headers = { accept: 'text/event-stream', 'last-event-id': this.lastEventId ?? '' };
      this.send({ method: 'GET', headers, body: null });
    });
  }

  private send(request: CallRequest): void {
    const { channel } = this;
    if (channel.tokens === null) {
      this.answer = channel.send(request, null, this);
      return;
    }
    channel.tokens.token().then(
      (token) => {
        this.token = token;
        if (!this.isOver) this.answer = channel.send(request, token, this);
      },
      (error: unknown) => this.end(error),
    );
  }
}

const ASKS_FOR_INPUT = 'The server asks for input of a user, which this service does not give.';

/** Members of answers before 2026-07-28 that are no results, but ask for something else. */
const NO_RESULT = ['task', 'inputRequests', 'requestState'];

/** Members of results beside which the content may be missing. */
const NO_CONTENT: ReadonlySet<string> = new Set(['content', 'isError', 'resultType', '_meta']);

/**
 * A result of a version before 2026-07-28: many servers write null for what is absent, and leave the content of an empty or structured result
 * out. What else comes in place of the content is a structure, too.
 */
function toOlderResult(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const result = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  if (result['content'] !== undefined || NO_RESULT.some((member) => member in result)) return result;
  const others = Object.entries(result).filter(([name]) => !NO_CONTENT.has(name));
  if (result['structuredContent'] !== undefined || others.length === 0) return { ...result, content: [] };
  return { ...result, content: [], structuredContent: Object.fromEntries(others) };
}

/** What an error of JSON-RPC says, also one that is a text, or lacks a member. */
function readError(error: unknown): { readonly code: number; readonly message: string } {
  const { code, message } = isObject(error) ? error : { code: NOT_VALID, message: error };
  return {
    code: /^-?\d+$/.test(String(code)) ? Number(code) : NOT_VALID,
    message: typeof message === 'string' ? message : JSON.stringify(error),
  };
}

/** The result of a call. Throws McpFailure for what is none. */
export function toResult(given: unknown, isModern: boolean): CallToolResult {
  if (!isObject(given)) throw notValid();
  if (isModern && given['resultType'] === 'input_required') throw new McpFailure('protocol', ASKS_FOR_INPUT);
  if (isModern && given['resultType'] !== 'complete') throw notValid();
  const result = isModern ? given : toOlderResult(given);
  const { isError = false, structuredContent = {}, content } = result;
  // Over older versions structures are objects.
  const isStructured = isModern || isObject(structuredContent);
  if (!isStructured || typeof isError !== 'boolean' || !Array.isArray(content)) throw notValid();
  for (const part of content as readonly unknown[]) {
    const { type, text } = Object(part) as Readonly<Record<string, unknown>>;
    if (typeof type !== 'string' || (type === 'text' && typeof text !== 'string')) throw notValid();
  }
  return { ...result, content: content as CallToolResult['content'] };
}

function withoutAnswer(): McpFailure {
  return closed('The server ended the stream without an answer.');
}
