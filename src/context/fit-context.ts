import { callIdOf, type Item } from '../protocol/index.js';

/** Tokens that are left for the answer where the request does not say how long it may be. */
const USUAL_ANSWER_TOKENS = 4096;

/** A transcript before it is fitted. */
export interface UnfittedContext {
  /** Everything, oldest first. */
  readonly items: readonly Item[];
  /** Most tokens of input and output together. */
  readonly window: number;
  /** Most tokens that the request allows for the answer. */
  readonly maxOutputTokens: number | null;
  /** Tokens of everything, with instructions and tools. */
  readonly tokens: number;
  /** Tokens of some of the items, by the same measure. */
  readonly count: (items: readonly Item[]) => Promise<number>;
}

const MEDIA: ReadonlySet<unknown> = new Set(['input_image', 'input_audio', 'input_file']);

const sizes = new WeakMap<object, number>();

/** Whether values may have more tokens than that. Cheap, and wrong only on the safe side: no token is less than a byte. */
export function mayExceed(tokens: number, values: readonly (object | string | null)[]): boolean {
  let bytes = 0;
  for (const value of values) {
    bytes += typeof value === 'object' && value !== null ? sizeOf(value) : Buffer.byteLength(value ?? '');
    if (bytes > tokens) return true;
  }
  return false;
}

/** Whether there is anything in a transcript whose tokens cannot be told from its length. */
export function holdsMedia(items: readonly Item[]): boolean {
  return items.some((item) =>
    [item.content, item.output].some((parts) => Array.isArray(parts) && (parts as readonly unknown[]).some(isMedia)),
  );
}

/**
 * Leaves out the oldest items, so that the rest fits a model's window with room for an answer. What stays: system and developer
 * messages at the beginning, tools that were added, calls together with their outputs, and reasoning together with what it led to. Undefined when
 * not even the last item fits.
 */
export async function dropOldest(context: UnfittedContext): Promise<readonly Item[] | undefined> {
  const { items, window, tokens, count } = context;
  const kept = items.findIndex((item) => !isInstruction(item));
  const cuts = kept === -1 ? [] : validCuts(items, kept);
  const wanted = tokens - (window - roomForAnswer(context));
  let freed = 0;
  let start = kept;
  for (const cut of cuts) {
    if (freed >= wanted) break;
    freed += await count(items.slice(start, cut).filter((item) => !isSetting(item)));
    start = cut;
  }
  if (freed > 0) start = skipAnswer(items, start);
  if (tokens - freed > window) return undefined;
  return freed === 0
    ? items
    : [...items.slice(0, kept), ...items.slice(kept, start).filter(isSetting), ...items.slice(start)];
}

/** Many models want the user to begin: what is left of an answer goes, if it is no more than words. */
function skipAnswer(items: readonly Item[], start: number): number {
  const end = items.findIndex(
    ({ type, role }, index) => index >= start && type !== 'reasoning' && role !== 'assistant',
  );
  const isTorn = items[end - 1]?.type === 'reasoning';
  return items[end]?.role === 'user' && !isTorn ? end : start;
}

/** Counts are estimates: a sixteenth of the window is room for their error, and no answer needs more than half of it. */
function roomForAnswer({ window, maxOutputTokens }: UnfittedContext): number {
  return Math.min(Math.max(maxOutputTokens ?? USUAL_ANSWER_TOKENS, Math.ceil(window / 16)), Math.floor(window / 2));
}

/** Where a transcript may begin, oldest first: behind its first items, but not between a call and its output. */
function validCuts(items: readonly Item[], from: number): readonly number[] {
  const last = new Map(items.map((item, index) => [callIdOf(item), index]));
  const cuts: number[] = [];
  let reach = from;
  for (const [index, item] of items.entries()) {
    if (index < from) continue;
    const callId = callIdOf(item);
    if (callId !== undefined) reach = Math.max(reach, last.get(callId) ?? index);
    const isLast = index === items.length - 1;
    if (reach <= index && item.type !== 'reasoning' && !isLast) cuts.push(index + 1);
  }
  return cuts;
}

function isInstruction(item: Item): boolean {
  if (item.type === 'message') return item.role === 'system' || item.role === 'developer';
  return isSetting(item);
}

/** What comes into force in the middle of a transcript, and stays. */
function isSetting({ type }: Item): boolean {
  return type === 'additional_tools' || type === 'configuration_update';
}

function isMedia(part: unknown): boolean {
  return typeof part === 'object' && part !== null && MEDIA.has(Reflect.get(part, 'type'));
}

function sizeOf(value: object): number {
  let size = sizes.get(value);
  if (size === undefined) {
    size = Buffer.byteLength(JSON.stringify(value));
    sizes.set(value, size);
  }
  return size;
}
