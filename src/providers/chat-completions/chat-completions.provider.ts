import { Logger } from '@nestjs/common';

import type { IdGenerator } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { isObject } from '../../validation/index.js';
import { ModelError } from '../model-error.js';
import type { ModelEvent } from '../model-event.js';
import { type ModelInfo, ModelProviderBase } from '../model-provider.js';
import type { Turn } from '../turn.js';
import {
  readEventStream,
  readText,
  type StreamedEvent,
  type UpstreamAddress,
  type UpstreamAnswer,
  UpstreamClient,
  UpstreamTimeoutError,
} from '../upstream-http/index.js';
import { AnswerReader, CallCollector, type ChatChunk } from './answer/index.js';
import type { Capabilities } from './capabilities.js';
import { describeFailure, readFailure, readRetryAfter, reasonOf, serverError, toModelError } from './errors/index.js';
import { readModels } from './read-models.js';
import { toChatRequest } from './request/index.js';
import { readCall, type ToolTable } from './tools/index.js';

/** A server that speaks Chat Completions. */
export interface ChatCompletionsOptions {
  /** The name of the provider, for `owned_by` and our log. */
  readonly name: string;
  readonly address: UpstreamAddress;
  readonly capabilities: Capabilities;
  /** Whether the models that the server lists are served under their names. */
  readonly discover: boolean;
  /** Request members that are handed on as they are. */
  readonly forward: readonly string[];
  /** Members that the server does not take. */
  readonly omit: ReadonlySet<string>;
  /** What clients must never see. */
  readonly secrets: readonly string[];
}

/** What the provider needs of the service. */
export interface ChatCompletionsSurroundings {
  readonly clock: Clock;
  readonly ids: IdGenerator;
}

/** Behind the model's last word come its usage and the end, at once. */
const END_LIMIT_MS = 2000;

/** Nobody waits longer for a list of models. */
const LIST_LIMIT_MS = 10_000;

/** A completion in one piece, bytes. */
const LONGEST_COMPLETION = 64 * 1024 * 1024;

const DONE = '[DONE]';

/** Models behind any server that speaks Chat Completions: turns become requests, chunks become ModelEvents. */
export class ChatCompletionsProvider extends ModelProviderBase {
  private readonly client: UpstreamClient;
  private readonly logger = new Logger(ChatCompletionsProvider.name);

  constructor(
    private readonly options: ChatCompletionsOptions,
    private readonly surroundings: ChatCompletionsSurroundings,
  ) {
    super();
    this.client = new UpstreamClient(options.address, surroundings.clock);
  }

  override async models(): Promise<readonly ModelInfo[]> {
    if (!this.options.discover) return [];
    const limit = new AbortController();
    const timer = this.surroundings.clock.schedule(LIST_LIMIT_MS, () => limit.abort(new Error('no answer')));
    try {
      return readModels(await this.client.getJson('/models', limit.signal), this.options.name);
    } catch (error) {
      throw new Error(reasonOf(error));
    } finally {
      timer.cancel();
    }
  }

  override async *generate(
    turn: Turn,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<readonly ModelEvent[]> {
    const { body, tools } = toChatRequest(turn, this.options);
    const reader = this.createReader(turn, tools);
    try {
      const answer = await this.client.post('/chat/completions', JSON.stringify(body), signal);
      if (answer.status !== 200) throw await this.refusal(answer);
      if (mediaTypeOf(answer) === 'application/json')
        reader.read(this.parse(await readText(answer.body, LONGEST_COMPLETION)));
      else yield* this.read(answer, reader);
    } catch (error) {
      signal.throwIfAborted();
      // What breaks behind the model's last word breaks nothing any more.
      if (reader.finished === undefined) throw this.explain(error);
    }
    const { finished } = reader;
    if (finished === undefined) throw this.explain(new Error('the stream ended without a finish reason'));
    if (finished === 'error') throw this.explain(new Error("the model's server gave up"));
    yield reader.end(finished);
  }

  /** Lets running turns end, then gives the connections back. */
  close(): Promise<void> {
    return this.client.close();
  }

  /** Hangs up on everything. */
  destroy(): Promise<void> {
    return this.client.destroy();
  }

  private async *read(answer: UpstreamAnswer, reader: AnswerReader): AsyncGenerator<readonly ModelEvent[]> {
    for await (const batch of readEventStream(answer.body)) {
      const wasFinished = isFinished(reader);
      const { isDone, failure } = this.readBatch(batch, reader);
      const events = reader.take();
      if (events.length > 0) yield events;
      if (failure !== null) throw failure;
      if (isDone) {
        answer.complete();
        return;
      }
      if (!wasFinished && isFinished(reader)) answer.expectEnd(END_LIMIT_MS);
    }
  }

  /** Reads events up to the last or a failure: what was said before it is said all the same. */
  private readBatch(
    batch: readonly StreamedEvent[],
    reader: AnswerReader,
  ): { readonly isDone: boolean; readonly failure: Error | null } {
    try {
      return { isDone: batch.some((event) => this.readEvent(event, reader)), failure: null };
    } catch (error) {
      return { isDone: true, failure: describe(error) };
    }
  }

  /** Reads one event of the stream; tells whether it was the last. Throws ModelError for an error in its place. */
  private readEvent({ event, data }: StreamedEvent, reader: AnswerReader): boolean {
    if (data === '') return false;
    if (data === DONE) return true;
    if (event === 'error') throw this.toError(readFailure(data));
    reader.read(this.parse(data));
    return false;
  }

  /** A chunk, or a whole completion. Throws ModelError for an error in its place, and for what is neither. */
  private parse(json: string): ChatChunk {
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch (cause) {
      throw serverError('The model sent what could not be read. Please retry your request.', cause);
    }
    if (!isObject(value))
      throw serverError('The model sent what could not be read. Please retry your request.', undefined);
    if (value.error != null || value.object === 'error') throw this.toError(describeFailure(value));
    return value;
  }

  private toError(failure: ReturnType<typeof readFailure>): ModelError {
    return toModelError(failure.status ?? 500, failure, { secrets: this.options.secrets, retryAfterMs: undefined });
  }

  private async refusal({ status, headers, body }: UpstreamAnswer): Promise<ModelError> {
    const retryAfterMs = readRetryAfter(headers, this.surroundings.clock.now());
    const text = await readText(body).catch(() => '');
    return toModelError(status, readFailure(text), { secrets: this.options.secrets, retryAfterMs });
  }

  /** What went wrong, in words for the client; the cause is told our log. */
  private explain(error: unknown): ModelError {
    const explained = describe(error);
    if (explained.retry !== 'nowhere') {
      const { cause } = explained;
      this.logger.warn(`'${this.options.name}': ${cause === undefined ? explained.message : reasonOf(cause)}`);
    }
    return explained;
  }

  private createReader({ context, include }: Turn, tools: ToolTable): AnswerReader {
    const used = new Set(context.map((item) => readCall(item)?.callId).filter((id) => id !== undefined));
    const calls = new CallCollector(tools, used, () => this.surroundings.ids.next('call'));
    return new AnswerReader(calls, include.includes('reasoning.encrypted_content'));
  }
}

function isFinished({ finished }: AnswerReader): boolean {
  return finished !== undefined;
}

/** Connections break, and servers fall silent: both may be otherwise at the next attempt. */
function describe(cause: unknown): ModelError {
  if (cause instanceof ModelError) return cause;
  if (cause instanceof UpstreamTimeoutError) {
    return serverError('The model did not answer in time. Please retry your request.', cause, { retry: 'other' });
  }
  return serverError('The connection to the model broke. Please retry your request.', cause);
}

function mediaTypeOf({ headers }: UpstreamAnswer): string {
  return (
    String(headers['content-type'] ?? '')
      .split(';', 1)[0]
      ?.trim()
      .toLowerCase() ?? ''
  );
}
