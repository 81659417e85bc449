import { callIdOf, isOutput, type Item, jsonLength, lateOutputs, toOutputMessage } from '../protocol/index.js';
import { isModelItem } from '../providers/transcripts/index.js';
import { isConfigurationUpdate } from './configuration.js';
import { isCall, waitingItems } from './waiting-items.js';

/** Tokens reserved for the answer when the request sets no limit. */
const USUAL_ANSWER_TOKENS = 4096;

/** A transcript before it is fitted. */
export interface UnfittedContext {
  /** All items, oldest first. */
  readonly items: readonly Item[];
  /** Most tokens of input and output together. */
  readonly window: number;
  /** Most output tokens of the request; null without a limit. */
  readonly maxOutputTokens: number | null;
  /** Since when requests for approvals are open, as of `approvalsOpenFrom`. */
  readonly approvalsFrom: number;
  /** Input tokens with some of the items, with instructions and tools. A count beyond `limit` may stop. */
  readonly countInput: (items: readonly Item[], limit: number) => Promise<number>;
  /** Tokens of some of the items alone, counted in the same way. */
  readonly count: (items: readonly Item[], limit: number) => Promise<number>;
}

const MEDIA: ReadonlySet<unknown> = new Set(['input_image', 'input_audio', 'input_file']);

const sizes = new WeakMap<object, number>();

/** Bytes of a character in JSON, at most: an escaped one. */
const MOST_BYTES = 6;

/** Whether values may have more tokens than `tokens`. A cheap upper bound: no token is shorter than a byte. */
export function mayExceed(tokens: number, values: readonly (object | string | null)[]): boolean {
  return !isShort(tokens, values) && isLarger(tokens, values);
}

/** A look at lengths alone, which is enough for most requests. */
function isShort(tokens: number, values: readonly (object | string | null)[]): boolean {
  const limit = tokens / MOST_BYTES;
  let length = 0;
  for (const value of values) {
    if (typeof value === 'string') length += value.length;
    else if (value !== null) length += sizes.get(value) ?? jsonLength(value, { limit: limit - length });
    if (length > limit) return false;
  }
  return true;
}

function isLarger(tokens: number, values: readonly (object | string | null)[]): boolean {
  let bytes = 0;
  for (const value of values) {
    bytes += typeof value === 'object' && value !== null ? sizeOf(value, tokens) : Buffer.byteLength(value ?? '');
    if (bytes > tokens) return true;
  }
  return false;
}

/** Whether a transcript contains media, whose tokens cannot be estimated from its length. */
export function holdsMedia(items: readonly Item[]): boolean {
  return items.some((item) =>
    [item.content, item.output].some((parts) => Array.isArray(parts) && (parts as readonly unknown[]).some(isMedia)),
  );
}

/**
 * Drops the oldest items, so that the rest fits a model's window with room for an answer. Always retained: leading
 * system and developer messages, added tools, requests that wait for an approval, calls together with their outputs, and reasoning together with the items
 * that follow from it. The late output of an asynchronous call that is dropped becomes a message. Undefined when not even the last item fits. Counts from the end, and no more than fits.
 */
export async function dropOldest(context: UnfittedContext): Promise<readonly Item[] | undefined> {
  const { items, window, countInput, count } = context;
  const head = items.findIndex((item) => !isInstruction(item));
  if (head === -1) return undefined;
  const waiting = waitingItems(items, items.findLastIndex(isModelItem) + 1, context.approvalsFrom);
  // A call without its output is the last thing in a context, but an approval may come at any time.
  const stays = (item: Item): boolean => isSetting(item) || (waiting.has(item) && !isCall(item));
  const retained = items.filter((item, index) => index < head || stays(item));
  let used = await countInput(retained, window);
  let start = items.length;
  for (const cut of [head, ...validCuts(items, head)].toReversed()) {
    const isLast = start === items.length;
    const room = (isLast ? window : window - roomForAnswer(context)) - used;
    if (room < 0) break;
    const tokens = await count(
      items.slice(cut, start).filter((item) => !stays(item)),
      room,
    );
    if (tokens > room) break;
    used += tokens;
    start = cut;
  }
  if (start === items.length) return undefined;
  if (start === head) return items;
  start = skipAnswer(items, start);
  const rest = items.slice(start);
  const late = lateOutputs(items);
  const left = late.size === 0 ? rest : withoutOrphans(rest, late);
  return [...items.slice(0, head), ...items.slice(head, start).filter(stays), ...left];
}

/** Items with the late outputs whose call is not among them as messages: upstreams refuse an output without its call. */
function withoutOrphans(items: readonly Item[], late: ReadonlyMap<Item, Item>): readonly Item[] {
  const left = new Set(items);
  return items.map((item) => {
    const call = late.get(item);
    return call === undefined || left.has(call) ? item : toOutputMessage(item, call);
  });
}

/** Many models require a user message first: skips the rest of an answer if it contains no calls. */
function skipAnswer(items: readonly Item[], start: number): number {
  const end = items.findIndex(
    ({ type, role }, index) => index >= start && type !== 'reasoning' && role !== 'assistant',
  );
  const isTorn = items[end - 1]?.type === 'reasoning';
  return items[end]?.role === 'user' && !isTorn ? end : start;
}

/**
 * Counts are estimates: reserves at least a sixteenth of the window for their error, and at most half of it for the
 * answer.
 */
function roomForAnswer({ window, maxOutputTokens }: UnfittedContext): number {
  return Math.min(Math.max(maxOutputTokens ?? USUAL_ANSWER_TOKENS, Math.ceil(window / 16)), Math.floor(window / 2));
}

/**
 * Where a transcript may be cut, oldest first: from an index on, but not between a call and its output, unless that came late, or after
 * reasoning.
 */
export function validCuts(items: readonly Item[], from: number): readonly number[] {
  const rounds = roundsOf(items);
  const cuts: number[] = [];
  let reach = from;
  for (const [index, item] of items.entries()) {
    if (index < from) continue;
    reach = Math.max(reach, rounds.get(item)?.end ?? from);
    const isLast = index === items.length - 1;
    if (reach <= index && item.type !== 'reasoning' && !isLast) cuts.push(index + 1);
  }
  return cuts;
}

/** A call with its outputs: the index of the last of them. */
interface Round {
  end: number;
  hasCall: boolean;
  hasOutput: boolean;
}

/** The round of each call and its outputs. Many programs use an id again for a later call. */
function roundsOf(items: readonly Item[]): ReadonlyMap<Item, Round> {
  const late = lateOutputs(items);
  const rounds = new Map<Item, Round>();
  const latest = new Map<string, Round>();
  for (const [index, item] of items.entries()) {
    const callId = late.has(item) ? undefined : callIdOf(item);
    if (callId === undefined) continue;
    const known = latest.get(callId);
    const isNext = !isOutput(item) && known?.hasCall === true && known.hasOutput;
    const round = known === undefined || isNext ? { end: index, hasCall: false, hasOutput: false } : known;
    round.end = index;
    round.hasCall ||= !isOutput(item);
    round.hasOutput ||= isOutput(item);
    latest.set(callId, round);
    rounds.set(item, round);
  }
  return rounds;
}

/** Instructions of the program, and items that stay in effect. */
export function isInstruction(item: Item): boolean {
  if (item.type === 'message') return item.role === 'system' || item.role === 'developer';
  return isSetting(item);
}

/** Items that take effect in the middle of a transcript and stay in effect. */
export function isSetting(item: Item): boolean {
  return item.type === 'additional_tools' || isConfigurationUpdate(item);
}

/** Whether a content part is an image, a sound or a file. */
export function isMedia(part: unknown): boolean {
  return typeof part === 'object' && part !== null && MEDIA.has(Reflect.get(part, 'type'));
}

/** The bytes of a value as JSON; only roughly if they are more than `limit`. */
function sizeOf(value: object, limit: number): number {
  let size = sizes.get(value);
  if (size === undefined) {
    // A large value is not written out to find that it is too large.
    const length = jsonLength(value, { limit });
    if (length > limit) return length;
    size = Buffer.byteLength(JSON.stringify(value));
    sizes.set(value, size);
  }
  return size;
}
