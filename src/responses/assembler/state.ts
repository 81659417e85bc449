import type { Annotation, ContentPart, Item, Logprob, Origin, TokenCounts } from '../../protocol/index.js';
import type { Finish } from '../../providers/index.js';
import type { GivenItems } from '../../state/index.js';

/**
 * The state of a response in progress, as plain data. `foldEvents` rebuilds it from events and notes, and an assembler
 * created from it continues.
 */
export interface AssemblerState {
  /** The number of the next event. */
  sequenceNumber: number;
  /** The last opening event that was written. */
  opening: 'none' | 'created' | 'queued' | 'in_progress';
  /** The version of the conversation that the passes so far have read; null before, and without a conversation. */
  conversationVersion: number | null;
  /** The output items, by output_index. */
  readonly items: ItemState[];
  /** The output_index of every item that is left out of the output, because its process died before its end. */
  readonly dropped: number[];
  /** The passes so far; the last one may still run. */
  readonly passes: PassState[];
  /** Items given to the model between passes; clients do not see them. */
  readonly given: GivenItems[];
  /** Opaque data and hidden items of the output, which clients do not see either. */
  readonly kept: KeptItem[];
  /** Searches of the web so far. */
  searches: number;
  /** The provider's key for the next item, if any. */
  nextKey: string | null;
  /** Characters of output so far, limited by MAX_OUTPUT_CHARACTERS. */
  characters: number;
  /** Whether the terminal event was written. */
  ended: boolean;
}

/** Reasoning that has only opaque data, or a hidden item. It stands before the output of its pass, whatever of that it belongs to. */
interface KeptItem {
  /** The output_index of the first item of the pass. */
  readonly before: number;
  readonly item: Item;
}

/** The state of a pass. */
export interface PassState {
  /** The number of output items before this pass. */
  readonly firstIndex: number;
  /** Reported tokens; null when none were reported. */
  usage: Required<TokenCounts> | null;
  /** Input tokens by the service's own count, for an end at which nothing was reported; null where they were not counted. */
  asked: number | null;
  /** The origin of the answer; null until it is known. */
  origin: Origin | null;
  /** How the model ended it; null while it runs, and forever when its process died. */
  finish: Finish | null;
  /** Whether policies gave the model items after it. */
  isAnswered: boolean;
}

/** An output item, open or finished. */
export type ItemState = FinishedItem | OpenItemState;

/** An output item that still takes events. */
export type OpenItemState = NativeState | PassThroughState;

/** An open item that the service builds from events of its own. */
export type NativeState = MessageState | ReasoningState | CallState;

/** A finished item, as an object for the store and as JSON text for the Response. */
export interface FinishedItem {
  readonly kind: 'finished';
  readonly item: Item;
  readonly json: string;
}

interface OpenState {
  readonly id: string;
  /** The provider's key of the item; null for the item that events without a key refer to. */
  readonly key: string | null;
}

interface OpenNativeState extends OpenState {
  /** What an upstream's item had when it opened, besides the members that the service builds; null for none. */
  readonly head: Readonly<Record<string, unknown>> | null;
}

/** Text in progress. `isDone`: its `done` event was written, and only the part is still open. */
export interface TextState {
  text: string;
  isDone: boolean;
  /** The first half of a character, a code unit, whose other half has not come. */
  half?: number | undefined;
}

/** A message part in progress. */
export interface PartState extends TextState {
  readonly type: 'output_text' | 'refusal';
  readonly annotations: Annotation[];
  readonly logprobs: Logprob[];
}

/** An assistant message. */
export interface MessageState extends OpenNativeState {
  readonly kind: 'message';
  /** Closed parts. */
  readonly content: ContentPart[];
  part: PartState | null;
  /** A part of another type that was added and is not done. */
  other: ContentPart | null;
}

/** A reasoning item. */
export interface ReasoningState extends OpenNativeState {
  readonly kind: 'reasoning';
  /** Closed summary parts. */
  readonly summaries: ContentPart[];
  summary: TextState | null;
  /** Closed parts of raw reasoning. */
  readonly content: ContentPart[];
  text: TextState | null;
  encrypted: string | null;
}

/** A call of a function or a custom tool. */
export interface CallState extends OpenNativeState, TextState {
  readonly kind: 'call';
  readonly type: 'function_call' | 'custom_tool_call';
  readonly callId: string;
  readonly name: string;
  readonly namespace: string | undefined;
}

/** A passed-through item in its latest form. */
export interface PassThroughState extends OpenState {
  readonly kind: 'other';
  item: Item;
}

/**
 * State that no event carries before the terminal one. Notes accompany the events, have no number and are never sent;
 * `before` is the number of the event that follows.
 */
export type AssemblerNote = { readonly before: number } & NoteBody;

/** The content of a note. */
export type NoteBody =
  /** A pass begins. */
  | { readonly type: 'pass' }
  /** The version of the conversation that the passes from here on have read. */
  | { readonly type: 'conversation'; readonly version: number }
  /** The model has ended the pass; its open items are closed next. */
  | ({ readonly type: 'finish' } & Finish)
  /** The open item at this place is closed next, and left out of the output. */
  | { readonly type: 'dropped'; readonly outputIndex: number }
  /** A policy gave items to the model. */
  | { readonly type: 'given'; readonly items: readonly Item[] }
  /** Opaque data of the pass. */
  | { readonly type: 'kept'; readonly item: Item }
  /** Hidden items of the pass. */
  | { readonly type: 'hidden'; readonly items: readonly Item[] }
  /** The web was searched. */
  | { readonly type: 'searches'; readonly count: number }
  /** How many tokens the model was asked, by the service's own count. */
  | { readonly type: 'asked'; readonly tokens: number }
  /** The model reported additional tokens. */
  | { readonly type: 'usage'; readonly tokens: Required<TokenCounts> }
  /** The origin of the answer. */
  | { readonly type: 'origin'; readonly origin: Origin }
  /** The key of the next item, or null. */
  | { readonly type: 'key'; readonly key: string | null }
  /** Half a character that the text, or the summary, of the open item at this place waits with. */
  | { readonly type: 'half'; readonly outputIndex: number; readonly isSummary: boolean; readonly unit: number }
  /** The encrypted form of a reasoning item. */
  | { readonly type: 'encrypted'; readonly outputIndex: number; readonly content: string };

/** Characters counted for each item and passed-through event beyond its text, so that their number is limited too. */
export const OVERHEAD_CHARACTERS = 32;

/** The state of a response that has not begun. */
export function emptyState(): AssemblerState {
  return {
    sequenceNumber: 0,
    opening: 'none',
    conversationVersion: null,
    items: [],
    dropped: [],
    passes: [],
    given: [],
    kept: [],
    searches: 0,
    nextKey: null,
    characters: 0,
    ended: false,
  };
}

/** A pass at its beginning. */
export function newPass(firstIndex: number): PassState {
  return { firstIndex, usage: null, asked: null, origin: null, finish: null, isAnswered: false };
}

/** How a pass ended, of an event or a note; notes of earlier versions have only the reason. */
export function toFinish({ reason, incompleteReason, serviceTier }: Finish): Finish {
  return {
    reason,
    ...(incompleteReason === undefined ? {} : { incompleteReason }),
    ...(serviceTier === undefined ? {} : { serviceTier }),
  };
}

/** The finished items from an output_index up to another, in the order in which they began, without those left out. */
export function finishedItemsOf(
  { items, dropped }: AssemblerState,
  from = 0,
  end = items.length,
): readonly FinishedItem[] {
  const finished: FinishedItem[] = [];
  for (let index = from; index < end; index++) {
    const item = items[index];
    if (item?.kind === 'finished' && !dropped.includes(index)) finished.push(item);
  }
  return finished;
}

/** Keeps an item of the current pass that no client sees. */
export function keepItem(state: AssemblerState, item: Item): void {
  state.kept.push({ before: state.passes.at(-1)?.firstIndex ?? 0, item });
  state.characters += JSON.stringify(item).length;
}

/** What belongs to the transcript up to an output_index, but not to the output: given items, opaque data, and hidden items. */
export function hiddenItemsOf(state: AssemblerState, end = Infinity): readonly GivenItems[] {
  const kept = state.kept
    .filter(({ before }) => before < end)
    .map(({ before, item }) => ({ after: finishedItemsOf(state, 0, before).length, items: [item] }));
  if (kept.length === 0) return state.given;
  // What was given after a pass stands before the data of the next one.
  return [...state.given, ...kept].sort((one, other) => one.after - other.after);
}

/** The sum of two token counts. */
export function addTokens(one: Required<TokenCounts> | null, other: Required<TokenCounts>): Required<TokenCounts> {
  if (one === null) return other;
  return {
    input: one.input + other.input,
    cached: one.cached + other.cached,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    output: one.output + other.output,
    reasoning: one.reasoning + other.reasoning,
  };
}
