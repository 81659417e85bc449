import type { Logprob } from '../../../protocol/index.js';
import { isObject, objectsIn } from '../../../validation/index.js';
import type { FinishReason, ModelEvent } from '../../model-event.js';
import { otherApiIn } from '../../upstream-http/other-api.js';
import { isOnlyOpaque } from '../opaque/opaque-members.js';
import type { OpaqueCollector } from '../opaque/opaque-collector.js';
import { Attachments } from './attachments.js';
import type { CallCollector } from './call-collector.js';
import {
  type ChatChoice,
  type ChatChunk,
  type ChatDelta,
  callsIn,
  endsWithCalls,
  hasOnlyContent,
  isId,
  oldCallIn,
  readFinish,
  readLogprobs,
  reasonIn,
  wordsIn,
} from './chat-chunk.js';
import { imagesIn, restOf, textsIn, unreadIn } from './content-parts.js';
import { mergeUsage, readUsage, type ChatUsage } from './read-usage.js';
import { type TaggedPiece, TagSplitter } from './tag-splitter.js';

/**
 * Characters from which a text that equals all that was said before is its repetition. Shorter ones may be what the model says:
 * some models write the digits of a number in tokens of their own.
 */
const SHORTEST_REPETITION = 8;

/**
 * Turns chunks of a chat completion, in any dialect, into ModelEvents. Most deltas have one text: they cost one event and nothing
 * else. What an upstream says a second time, such as the whole message in its last chunk, is read once.
 */
export class ChunkReader {
  /** What becomes of the members of a delta that follow reasoning and content, in this order. */
  private readonly others: readonly (readonly [member: keyof ChatDelta, read: (value: unknown) => void])[] = [
    ['annotations', (value) => this.annotate(value)],
    ['images', (value) => this.show(objectsIn(value))],
    ['tool_calls', (value) => this.callAll(callsIn(value))],
    ['tool_call', (value) => this.callAll(callsIn(value))],
    ['function_call', (value) => this.callAll(oldCallIn(value))],
  ];
  private events: ModelEvent[] = [];
  private upstreamId: string | undefined;
  /** The index of the choice that is read, which is that of the first one: some servers do not count from 0, or not in numbers. */
  private index: unknown;
  /** The reasoning since the last output; null without any. */
  private reasoning: string | null = null;
  /** The reasoning before it. */
  private earlierReasoning = '';
  private text = '';
  private textPieces = 0;
  private refusal = '';
  /** Where the open message begins in `text`; null if none is open. */
  private messageStart: number | null = null;
  private readonly attachments = new Attachments();
  /** Whether the upstream writes its deltas as `message`. */
  private hasMessagesForDeltas = false;
  /** Whether the chunk has a finish reason, or comes after one. */
  private isLastChunk = false;
  /** Whether a finish reason spoke of calls. */
  private isCalling = false;
  /** Whether the last chunk said nothing but that the answer has ended. */
  private hasStopped = false;
  /** Whether the upstream went on after a finish reason. */
  hasGoneOn = false;
  /** Log probabilities of tokens that hold only part of a character; they go with the next text. */
  private logprobs: Logprob[] | null = null;
  private usage: ChatUsage | undefined;
  /** Finds reasoning in the text; null if there is none. */
  private readonly splitter: TagSplitter | null;
  /** What it was given: text and reasoning with their tags. */
  private tagged = '';
  private finish: FinishReason | 'error' | undefined;
  /** Whether deltas, up to the next one with a role, are of a message that is not the model's, such as the output of a tool of its server. */
  private isForeign = false;
  /** What the upstream has said in a form that is not read; undefined for nothing. */
  unread: string | undefined;

  constructor(
    private readonly calls: CallCollector,
    private readonly opaque: OpaqueCollector,
    /** The names of tags between which content is reasoning. */
    tags: readonly string[] = [],
  ) {
    this.splitter = tags.length === 0 ? null : new TagSplitter(tags);
  }

  /** The last finish reason of the upstream so far. It ends nothing: only `isOver`, or the end of the body, says that no more comes. */
  get finished(): FinishReason | 'error' | undefined {
    return this.finish;
  }

  /** Whether the answer is complete, whatever becomes of the connection. */
  get isOver(): boolean {
    return this.hasStopped && !this.hasGoneOn;
  }

  /** Reads a chunk; `take` returns its events. */
  read(chunk: ChatChunk): void {
    if (this.upstreamId === undefined && isId(chunk.id)) {
      this.upstreamId = chunk.id;
      this.events.push({ type: 'metadata', upstreamId: chunk.id });
    }
    if (chunk.usage != null) this.count(readUsage(chunk.usage, chunk.timings));
    else if (isObject(chunk.x_groq)) this.count(readUsage(chunk.x_groq.usage));
    this.noteSources(chunk);
    if (!Array.isArray(chunk.choices)) {
      this.unread ??= otherApiIn(chunk, 'chat');
      return;
    }
    for (const each of chunk.choices as readonly unknown[]) {
      const choice = typeof each === 'string' ? { text: each } : each;
      if (isObject(choice) && (choice.index ?? 0) === (this.index ??= choice.index ?? 0)) this.readChoice(choice);
    }
  }

  /** The events read since the last call. */
  take(): readonly ModelEvent[] {
    const { events } = this;
    if (events.length > 0) this.events = [];
    return events;
  }

  /** The upstream says that there is no more: an answer without a finish reason is complete then, if it has said anything. */
  conclude(): void {
    this.endTags();
    if (this.hasSpoken) this.finish ??= 'stop';
    this.hasStopped = this.finish !== undefined;
    this.hasGoneOn = false;
  }

  /** Whether the answer has anything but reasoning. */
  get hasAnswered(): boolean {
    const { text, refusal, calls, attachments } = this;
    return text !== '' || refusal !== '' || !calls.isEmpty || attachments.hasImages;
  }

  /** Whether the answer has an image that no item can show. */
  get hidesImage(): boolean {
    return this.attachments.hasHidden;
  }

  /** Whether the model called a tool, and did not say which. */
  get lacksCall(): boolean {
    return this.calls.hasNameless || (this.isCalling && !this.calls.hasUsable);
  }

  /** Closes open items and returns the remaining events, ending with `finish`: an answer with a malformed call was cut off. */
  end(reason: FinishReason): readonly ModelEvent[] {
    this.endTags();
    this.endReasoning();
    this.endText();
    const { events, areWhole } = this.calls.close(reason !== 'stop');
    this.events.push(...events);
    const opaque = this.opaque.take(this.calls.opaque);
    if (opaque !== undefined) this.events.push({ type: 'reasoning_encrypted', plain: '', opaque, key: 'opaque' });
    if (this.usage !== undefined) this.events.push(this.usage);
    if (areWhole || reason !== 'stop') {
      this.events.push({ type: 'finish', reason });
    } else {
      // The text is complete, only the call is not.
      this.events.push({ type: 'end' }, { type: 'finish', reason: 'length' });
    }
    return this.take();
  }

  private readChoice(choice: ChatChoice): void {
    if (choice.logprobs != null) (this.logprobs ??= []).push(...readLogprobs(choice.logprobs));
    if (choice.usage != null) this.count(readUsage(choice.usage));
    const finish = readFinish(reasonIn(choice));
    if (finish === undefined && this.finish === undefined) this.readWords(choice);
    else this.readEnd(choice, finish);
  }

  /** Reads a choice that has a finish reason, or comes after one: some upstreams write one into every chunk. */
  private readEnd(choice: ChatChoice, finish: FinishReason | 'error' | undefined): void {
    this.isLastChunk = true;
    const before = this.events.length + this.calls.size;
    this.readWords(choice);
    const hasSpoken = this.events.length + this.calls.size > before;
    this.hasGoneOn ||= hasSpoken && this.finish !== undefined;
    this.hasStopped = !hasSpoken;
    this.isCalling ||= endsWithCalls(reasonIn(choice));
    // A proxy may add `stop` to the reason of its upstream.
    if (this.finish === undefined || hasSpoken || finish !== 'stop') this.finish = finish ?? this.finish;
  }

  private readWords(choice: ChatChoice): void {
    const { delta, message, tool_calls: calls } = choice;
    if (isObject(delta)) this.readDelta(delta);
    if (isObject(message)) this.readMessage(message, isObject(delta));
    if (calls != null) this.callAll(callsIn(calls));
    const words = wordsIn(choice);
    // Beside an empty delta it may be all of the text again.
    if (words !== undefined && !(isObject(delta) && words === this.text)) this.readDelta({ content: words });
  }

  private readDelta(delta: ChatDelta): void {
    const { content, role } = delta;
    if (typeof role === 'string' && role !== '') this.isForeign = role === 'tool' || role === 'function';
    if (this.isForeign) {
      this.unread ??= `a message of the role '${String(role)}'`;
      return;
    }
    // As most are; nothing else is looked for in them.
    if (typeof content === 'string' && hasOnlyContent(delta)) {
      this.sayContent(content);
      return;
    }
    const before = this.events.length + this.calls.size;
    this.opaque.read(delta);
    this.noteSources(delta);
    const { reasoning, text, refusal } = textsIn(delta);
    this.think(reasoning);
    this.sayContent(text);
    this.show(imagesIn(content));
    this.refuse(refusal);
    for (const [member, read] of this.others) {
      const value = delta[member];
      if (value != null) read(value);
    }
    const isRead = this.events.length + this.calls.size > before || reasoning + text + refusal !== '';
    this.unread ??= unreadIn(delta, isRead);
  }

  /** A message is all of the answer so far, as it is beside a delta, or a delta by another name. */
  private readMessage(message: ChatDelta, isBesideDelta: boolean): void {
    if (isBesideDelta || (this.hasSpoken && !this.hasMessagesForDeltas)) {
      this.complete(message);
      // Beside a delta it need not be the last: a tag may go on in the next one.
      if (!isBesideDelta) this.endTags();
      return;
    }
    this.hasMessagesForDeltas = true;
    this.readDelta(message);
  }

  /** Says what a whole message has beyond the deltas. */
  private complete(message: ChatDelta): void {
    this.opaque.complete(message);
    this.noteSources(message);
    const { reasoning, text, refusal } = textsIn(message);
    this.think(restOf(this.allReasoning, reasoning));
    if (this.splitter === null) this.say(restOf(this.text, text));
    else this.sayTagged(restOf(this.tagged, text), this.splitter);
    this.refuse(restOf(this.refusal, refusal));
    this.annotate(message.annotations);
    this.show([...imagesIn(message.content), ...objectsIn(message.images)]);
    const calls = [...callsIn(message.tool_calls), ...callsIn(message.tool_call), ...oldCallIn(message.function_call)];
    if (calls.length > 0) this.beginCalls();
    this.events.push(...this.calls.complete(calls));
  }

  private get hasSpoken(): boolean {
    return this.hasAnswered || this.allReasoning !== '';
  }

  private get allReasoning(): string {
    return this.reasoning === null ? this.earlierReasoning : this.earlierReasoning + this.reasoning;
  }

  private think(delta: string): void {
    if (delta === '') return;
    // Behind the output it is a repetition.
    if (this.reasoning === null && delta === this.earlierReasoning) return;
    this.logprobs = null;
    this.endText();
    this.reasoning = (this.reasoning ?? '') + delta;
    this.events.push({ type: 'reasoning', delta });
  }

  private sayContent(text: string): void {
    if (this.splitter === null) this.say(text);
    else this.sayTagged(text, this.splitter);
  }

  private say(delta: string): void {
    if (delta === '' || (this.isLastChunk && this.isRepetition(delta))) return;
    this.endReasoning();
    const { logprobs } = this;
    this.logprobs = null;
    this.messageStart ??= this.text.length;
    this.text += delta;
    this.textPieces += 1;
    this.events.push(logprobs === null ? { type: 'text', delta } : { type: 'text', delta, logprobs });
  }

  /** Whether a text is all that was said in several pieces before it. */
  private isRepetition(text: string): boolean {
    const { length } = text;
    return length >= SHORTEST_REPETITION && length === this.text.length && this.textPieces > 1 && text === this.text;
  }

  /** Says text with tags, as far as it is certain. */
  private sayTagged(text: string, splitter: TagSplitter): void {
    this.tagged += text;
    this.sayPieces(splitter.split(text));
  }

  private sayPieces(pieces: readonly TaggedPiece[]): void {
    for (const { isReasoning, text } of pieces) {
      if (isReasoning) this.think(text);
      else this.say(text);
    }
  }

  /** Says what might have become a tag. */
  private endTags(): void {
    if (this.splitter !== null) this.sayPieces(this.splitter.end());
  }

  private refuse(delta: string): void {
    if (delta === '') return;
    this.endTags();
    this.endReasoning();
    this.refusal += delta;
    this.events.push({ type: 'refusal', delta });
  }

  private annotate(value: unknown): void {
    for (const annotation of this.attachments.readAnnotations(value)) {
      this.endReasoning();
      this.events.push({ type: 'annotation', annotation });
    }
  }

  private noteSources(from: ChatChunk | ChatDelta): void {
    if (from.citations != null || from.search_results != null) this.attachments.noteSources(from);
  }

  /** Shows images in items of their own, beside an open message. */
  private show(images: readonly Readonly<Record<string, unknown>>[]): void {
    const events = this.attachments.readImages(images);
    if (events.length === 0) return;
    if (this.reasoning !== null) {
      this.endReasoning();
      this.events.push({ type: 'end' });
    }
    this.events.push(...events);
  }

  /** Adds citations to the open message, which ends. */
  private endText(): void {
    if (this.messageStart === null) return;
    const citations = this.attachments.citeIn(this.text.slice(this.messageStart));
    this.messageStart = null;
    for (const annotation of citations) this.events.push({ type: 'annotation', annotation });
  }

  private callAll(all: readonly Readonly<Record<string, unknown>>[]): void {
    // Without a call, what is demanded back belongs to the message.
    const entries = this.calls.isEmpty ? all.filter((entry) => !isOnlyOpaque(entry)) : all;
    if (entries.length < all.length) all.filter(isOnlyOpaque).forEach((entry) => this.opaque.read(entry));
    if (entries.length === 0) return;
    this.beginCalls();
    this.events.push(...this.calls.add(entries));
  }

  /** Calls end the text item before them. */
  private beginCalls(): void {
    this.endTags();
    this.logprobs = null;
    if (!this.calls.isEmpty) return;
    this.endReasoning();
    this.endText();
    this.events.push({ type: 'end' });
  }

  /** Repeated usage is cumulative: the last count of each kind counts, unless it is zero. */
  private count(usage: ChatUsage | undefined): void {
    if (usage !== undefined) this.usage = this.usage === undefined ? usage : mergeUsage(this.usage, usage);
  }

  private endReasoning(): void {
    if (this.reasoning === null) return;
    const opaque = this.opaque.take();
    const plain = this.reasoning.toWellFormed();
    this.events.push({ type: 'reasoning_encrypted', plain, ...(opaque === undefined ? {} : { opaque }) });
    this.earlierReasoning += this.reasoning;
    this.reasoning = null;
  }
}
