import type { Logprob } from '../../../protocol/index.js';
import { isObject, objectsIn } from '../../../validation/index.js';
import type { FinishReason, ModelEvent } from '../../model-event.js';
import type { CallCollector } from './call-collector.js';
import type { ChatChoice, ChatChunk, ChatDelta } from './chat-chunk.js';
import { readAnnotations, readParts, textOfDetails, textOrEmpty } from './content-parts.js';
import { readFinish } from './read-finish.js';
import { readLogprobs } from './read-logprobs.js';
import { readUsage } from './read-usage.js';

/** Characters of an upstream id. It is stored with each response, so longer ids are ignored. */
const LONGEST_ID = 256;

/** The members that contain reasoning. Some upstreams repeat the same text in several of them: the first one counts. */
const THOUGHTS: readonly (readonly [member: keyof ChatDelta, read: (value: unknown) => string])[] = [
  ['reasoning_content', textOrEmpty],
  ['reasoning', textOrEmpty],
  ['reasoning_details', textOfDetails],
];

/**
 * Turns chunks of a chat completion, in any dialect, into ModelEvents. Most deltas have one text: they cost one event and nothing
 * else.
 */
export class AnswerReader {
  /** What becomes of the members that follow reasoning and content, in this order. */
  private readonly rest: readonly (readonly [member: keyof ChatDelta, read: (value: unknown) => void])[] = [
    ['refusal', (value) => this.refuse(textOrEmpty(value))],
    ['annotations', (value) => this.annotate(value)],
    ['tool_calls', (value) => this.callAll(objectsIn(value))],
    ['function_call', (value) => this.callAll(isObject(value) ? [{ index: 0, function: value }] : [])],
  ];
  private events: ModelEvent[] = [];
  private upstreamId: string | undefined;
  private reasoning: string | null = null;
  /** Log probabilities of tokens that hold only part of a character; they go with the next text. */
  private logprobs: Logprob[] | null = null;
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
    if (chunk.usage != null) this.usage = readUsage(chunk.usage, chunk.timings) ?? this.usage;
    else if (isObject(chunk.x_groq)) this.usage = readUsage(chunk.x_groq.usage) ?? this.usage;
    const { choices } = chunk;
    if (!Array.isArray(choices)) return;
    for (const choice of choices) if (isObject(choice) && (choice.index ?? 0) === 0) this.readChoice(choice);
  }

  /** The events read since the last call. */
  take(): readonly ModelEvent[] {
    const { events } = this;
    if (events.length > 0) this.events = [];
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
    if (choice.logprobs != null) (this.logprobs ??= []).push(...readLogprobs(choice.logprobs));
    // Deltas after a finish reason only repeat earlier ones.
    if (isObject(delta) && this.finish === undefined) this.readDelta(delta);
    this.finish ??= readFinish(choice.finish_reason);
  }

  private readDelta(delta: ChatDelta): void {
    const thought = thoughtOf(delta);
    const { content } = delta;
    if (typeof content === 'string') {
      this.think(thought);
      this.say(content);
    } else {
      const { reasoning, text } = readParts(content);
      this.think(thought + reasoning);
      this.say(text);
    }
    for (const [member, read] of this.rest) {
      const value = delta[member];
      if (value != null) read(value);
    }
  }

  private think(delta: string): void {
    if (delta === '') return;
    this.logprobs = null;
    this.reasoning = (this.reasoning ?? '') + delta;
    this.events.push({ type: 'reasoning', delta });
  }

  private say(delta: string): void {
    if (delta === '') return;
    this.endReasoning();
    const { logprobs } = this;
    this.logprobs = null;
    this.events.push(logprobs === null ? { type: 'text', delta } : { type: 'text', delta, logprobs });
  }

  private refuse(delta: string): void {
    if (delta === '') return;
    this.endReasoning();
    this.events.push({ type: 'refusal', delta });
  }

  private annotate(value: unknown): void {
    for (const annotation of readAnnotations(value)) {
      this.endReasoning();
      this.events.push({ type: 'annotation', annotation });
    }
  }

  private callAll(entries: readonly Readonly<Record<string, unknown>>[]): void {
    for (const entry of entries) {
      // Calls end the text item before them.
      if (this.calls.isEmpty) {
        this.endReasoning();
        this.events.push({ type: 'end' });
      }
      this.logprobs = null;
      this.events.push(...this.calls.add(entry));
    }
  }

  private endReasoning(): void {
    if (this.reasoning === null) return;
    this.events.push({ type: 'reasoning_encrypted', plain: this.reasoning });
    this.reasoning = null;
  }
}

function thoughtOf(delta: ChatDelta): string {
  for (const [member, read] of THOUGHTS) {
    const value = delta[member];
    const thought = value == null ? '' : read(value);
    if (thought !== '') return thought;
  }
  return '';
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= LONGEST_ID;
}
