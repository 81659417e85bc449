import { type ForeignItem, jsonLength } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';
import type { Finish, ForeignEvent, ModelEvent } from '../../model-event.js';
import { quotableName } from '../../redact.js';
import type { ReadingContext } from '../errors/delays.js';
import type { Profile } from '../profile.js';
import type { Statistics } from '../statistics.js';
import { UpstreamError } from '../upstream-error.js';
import { isForeignItem } from './foreign-items.js';
import { HeldPayloads } from './held-payloads.js';
import type { ItemProgress } from './item-progress.js';
import { AnswerItems } from './answer-items.js';
import { differenceOf, type UpstreamUsage } from './read-usage.js';

/** How an answer is read. */
export interface ResponsesAnswerOptions {
  readonly profile: Profile;
  /** Values to redact from what is told beside the output. */
  readonly secrets: readonly string[];
  readonly transport: 'sse' | 'websocket';
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The state that the upstream gave in an earlier attempt of this turn: only the first one counts. */
  readonly turnState?: string | null;
}

/** Whether an event of an item names it neither by its index nor by its id. */
export function isUnnamed({ output_index: index, item_id: id }: ForeignEvent): boolean {
  return index == null && id == null;
}

/** Reads an event of a type into an answer. */
export type Handler = (answer: ResponsesAnswer, event: ForeignEvent) => void;

/** Characters of an upstream id. It is stored with each response, so longer ids are ignored. */
const LONGEST_ID = 256;

/** Events before the first output, and their characters. An answer that has more of them has begun, so that they need not be kept. */
const MOST_BEFORE_OUTPUT = { events: 256, characters: 256 * 1024 };

const NONE: readonly ModelEvent[] = [];

/** What was read of an answer so far: the ModelEvents that wait to be taken, and the state that handlers read and change. */
export class ResponsesAnswer {
  readonly items = new AnswerItems();
  readonly held = new HeldPayloads();
  hasOutput = false;
  isFinished = false;
  /** Whether later events belong to no one. */
  isOver = false;
  failure: UpstreamError | null = null;
  responseId: string | null = null;
  turnState: string | null;
  isContinuable = false;
  /** Whether the upstream may have an item that `items` does not have. */
  hasLostItem = false;
  /** What of the output was left out first, because it is not understood; null for nothing. */
  unread: string | null = null;
  /** Indexes and ids of items that were announced and dropped. */
  private readonly lost = new Set<unknown>();
  private hasLostCall = false;
  private events: ModelEvent[] = [];
  /** Of the events before the first output, whether taken or not. */
  private readonly before = { events: 0, characters: 0 };
  /** The token counts so far. */
  private used: UpstreamUsage | null = null;

  constructor(
    readonly options: ResponsesAnswerOptions,
    private readonly statistics: Statistics,
  ) {
    this.turnState = options.turnState ?? null;
  }

  /** Adds an event of the output. */
  write(event: ModelEvent): void {
    this.hasOutput = true;
    this.events.push(event);
  }

  /** Adds an event beside the output: as long as there is no other, the request can still be repeated. */
  note(event: ModelEvent): void {
    this.events.push(event);
    if (this.hasOutput) return;
    const { before } = this;
    const { events, characters } = MOST_BEFORE_OUTPUT;
    before.events += 1;
    before.characters += jsonLength(event, { limit: characters });
    this.hasOutput = before.events > events || before.characters > characters;
  }

  /** Notes token counts. Those of a later event take the place of the earlier ones: noted is what they add to them. */
  noteUsage(usage: UpstreamUsage): void {
    const { used } = this;
    this.used = usage;
    this.note(used === null ? usage : differenceOf(usage, used));
  }

  /** Keeps the state of the turn, the first one, if the upstream gives it in events. Returns it if this is it. */
  takeTurnState(state: string | null): string | null {
    const { profile, transport } = this.options;
    if (this.turnState !== null || transport !== 'websocket' || profile.turnStateFrom !== 'event') return null;
    this.turnState = state;
    return state;
  }

  /** The events since the last call. */
  take(): readonly ModelEvent[] {
    const { events } = this;
    if (events.length === 0) return NONE;
    this.events = [];
    return events;
  }

  /** Counts an event that contradicts the others, or that no client could place. */
  drop(): void {
    this.statistics.count('events_unplaced');
  }

  /** Drops content. `what` names its form, for the log and for the error of an answer that has nothing else. */
  leaveOut(what: string): void {
    this.drop();
    this.unread ??= what;
  }

  /** Writes of the payload of an open call. */
  writePayload(item: ItemProgress, delta: string): void {
    if (delta === '') return;
    item.payload += delta;
    const type = item.type === 'function_call' ? 'function_call_arguments' : 'custom_tool_call_input';
    this.write({ type, delta, key: item.key });
  }

  /** Drops the item of an event. */
  dropItem(): void {
    this.hasLostItem = true;
    this.drop();
  }

  /** Drops an item that is not understood. */
  leaveOutItem(item: unknown): void {
    this.hasLostItem = true;
    this.leaveOut(`an item of type '${quotableName(isObject(item) ? item.type : undefined)}'`);
  }

  /** Drops an item that an event announces, and the deltas that name it. */
  dropAnnounced(index: unknown, id: unknown): void {
    this.dropItem();
    for (const name of [index, id]) if (name != null) this.lost.add(name);
  }

  /** Drops a call. Without it the answer would be taken for the end of the work. */
  loseCall(): void {
    this.dropItem();
    this.hasLostCall = true;
  }

  /** Counts an event of a type that is not known. */
  countUnknown(): void {
    this.statistics.count('events_unknown');
  }

  /** Opens an item; null if it cannot be one of this answer. */
  open(index: unknown, item: ForeignItem): ItemProgress | null {
    const opened = isForeignItem(item) ? this.items.add(index, item) : null;
    if (opened !== null) this.write({ type: 'item.open', key: opened.key, item });
    return opened;
  }

  /**
   * The item that a delta begins which names none that was announced; null if it cannot be placed, or if that one was
   * dropped.
   */
  begin(event: ForeignEvent, type: 'message' | 'reasoning'): ItemProgress | null {
    const { output_index: index, item_id: id } = event;
    const announced = index == null ? this.items.open.findLast((item) => item.type === type) : undefined;
    if (announced === undefined && (this.lost.has(index) || this.lost.has(id))) return null;
    const content = type === 'message' ? { role: 'assistant', content: [] } : { summary: [] };
    const item = announced ?? this.open(index, { type, ...(typeof id === 'string' && { id }), ...content });
    if (item === null) return null;
    if (isUnnamed(event)) this.items.setUnnamed(item);
    return item;
  }

  /** Closes an open item with its final form; drops a form that does not fit. */
  close(open: ItemProgress | null, item: ForeignItem): void {
    if (open?.isOpen !== true || !open.fits(item)) {
      this.dropItem();
      return;
    }
    const form = open.withAnnounced(item);
    open.isOpen = false;
    open.final = form;
    this.write({ type: 'item.close', key: open.key, item: form });
  }

  /** Ends an open item as it is. */
  endItem(open: ItemProgress): void {
    open.isOpen = false;
    this.write({ type: 'end', key: open.key });
  }

  /** Notes the upstream's id of the response, by which later requests refer to it. */
  nameResponse(id: string): void {
    if (id === this.responseId) return;
    this.responseId = id;
    if (id !== '' && id.length <= LONGEST_ID) this.note({ type: 'metadata', upstreamId: id });
  }

  /** Ends the answer. A failure before it did not matter. */
  finish(finish: Finish): void {
    if (this.hasLostCall) {
      this.end(new UpstreamError('the upstream sent a call without a name or a usable call_id', { remedy: 'retry' }));
      return;
    }
    this.write({ type: 'finish', ...finish });
    this.failure = null;
    this.isContinuable = finish.reason === 'stop' && !this.hasLostItem && this.items.areFinal;
    this.isFinished = true;
    this.isOver = true;
  }

  /** Ends the answer with a failure. */
  end(error: UpstreamError): void {
    this.fail(error);
    this.isOver = true;
  }

  /** Notes a failure. Over SSE it is reported when the stream ends, on a socket at once (upstreams §3.3, §4.3). */
  fail(error: UpstreamError): void {
    this.failure = error;
    this.isOver = this.options.transport === 'websocket';
  }

  get failureContext(): ReadingContext {
    return { profile: this.options.profile, now: this.options.now() };
  }
}
