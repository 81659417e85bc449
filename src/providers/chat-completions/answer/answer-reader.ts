import type { Logprob } from '../../../protocol/index.js';
import { isObject, objectsIn } from '../../../validation/index.js';
import type { FinishReason, ModelEvent } from '../../model-event.js';
import type { CallCollector } from './call-collector.js';
import type { ChatChoice, ChatChunk, ChatDelta } from './chat-chunk.js';
import { readFinish } from './read-finish.js';
import { readLogprobs } from './read-logprobs.js';
import { readAnnotations, readTexts } from './read-texts.js';
import { readUsage } from './read-usage.js';

/** Characters of an upstream id. It is stored with each response, so longer ids are ignored. */
const LONGEST_ID = 256;

/** Turns chunks of a chat completion, in any dialect, into ModelEvents. */
export class AnswerReader {
  private events: ModelEvent[] = [];
  private upstreamId: string | undefined;
  private reasoning: string | null = null;
  /** Log probabilities of tokens that hold only part of a character; they go with the next text. */
  private logprobs: Logprob[] = [];
  private usage: ModelEvent | undefined;
  private finish: FinishReason | 'error' | undefined;

  constructor(private readonly calls: CallCollector) {}

  /** The finish reason of the upstream; undefined until it arrives. */
  get finished(): FinishReason | 'error' | undefined {
    return this.finish;
  }

  /** Reads a chunk; `take` returns its events. */
  read(chunk: ChatChunk): void {
    if (this.upstreamId === undefined && isId(chunk.id)) {
      this.upstreamId = chunk.id;
      this.events.push({ type: 'metadata', upstreamId: chunk.id });
    }
    // Repeated usage is cumulative: the last one counts.
    this.usage =
      readUsage(chunk.usage, chunk.timings) ?? readUsage(isObject(chunk.x_groq) && chunk.x_groq.usage) ?? this.usage;
    for (const choice of objectsIn(chunk.choices)) if ((choice.index ?? 0) === 0) this.readChoice(choice);
  }

  /** The events read since the last call. */
  take(): readonly ModelEvent[] {
    const { events } = this;
    this.events = [];
    return events;
  }

  /** Closes open items and returns the remaining events, ending with `finish`. */
  end(reason: FinishReason): readonly ModelEvent[] {
    this.endReasoning();
    this.events.push(...this.calls.close(reason !== 'stop'));
    if (this.usage !== undefined) this.events.push(this.usage);
    this.events.push({ type: 'finish', reason });
    return this.take();
  }

  private readChoice(choice: ChatChoice): void {
    const delta = isObject(choice.delta) ? choice.delta : choice.message;
    if (choice.logprobs != null) this.logprobs.push(...readLogprobs(choice.logprobs));
    // Deltas after a finish reason only repeat earlier ones.
    if (isObject(delta) && this.finish === undefined) this.readDelta(delta);
    this.finish ??= readFinish(choice.finish_reason);
  }

  private readDelta(delta: ChatDelta): void {
    const { reasoning, text } = readTexts(delta);
    if (reasoning !== '') this.think(reasoning);
    if (text !== '') this.say(text);
    if (typeof delta.refusal === 'string' && delta.refusal !== '') {
      this.endReasoning();
      this.events.push({ type: 'refusal', delta: delta.refusal });
    }
    for (const annotation of readAnnotations(delta)) {
      this.endReasoning();
      this.events.push({ type: 'annotation', annotation });
    }
    for (const call of objectsIn(delta.tool_calls)) this.call(call);
    if (isObject(delta.function_call)) this.call({ index: 0, function: delta.function_call });
  }

  private think(delta: string): void {
    this.logprobs = [];
    this.reasoning = (this.reasoning ?? '') + delta;
    this.events.push({ type: 'reasoning', delta });
  }

  private say(delta: string): void {
    this.endReasoning();
    const { logprobs } = this;
    this.logprobs = [];
    this.events.push(logprobs.length === 0 ? { type: 'text', delta } : { type: 'text', delta, logprobs });
  }

  private call(entry: Readonly<Record<string, unknown>>): void {
    // Calls end the text item before them.
    if (this.calls.isEmpty) {
      this.endReasoning();
      this.events.push({ type: 'end' });
    }
    this.logprobs = [];
    this.events.push(...this.calls.add(entry));
  }

  private endReasoning(): void {
    if (this.reasoning === null) return;
    this.events.push({ type: 'reasoning_encrypted', plain: this.reasoning });
    this.reasoning = null;
  }
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= LONGEST_ID;
}
