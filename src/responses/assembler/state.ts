import type { Annotation, ContentPart, Item, Logprob, Origin, TokenCounts } from '../../protocol/index.js';
import type { GivenItems } from '../../state/index.js';

/**
 * Everything an assembler knows of a response on its way, as plain data. It can be made again from the events that left and the
 * notes beside them (`foldEvents`), and an assembler that is made from it goes on.
 */
export interface AssemblerState {
  /** The number of the next event. */
  sequenceNumber: number;
  /** Which of the events that open a stream were written. */
  opening: 'none' | 'created' | 'in_progress';
  /** The output items, by output_index. */
  readonly items: ItemState[];
  /** The questions to models so far; the last one may still run. */
  readonly passes: PassState[];
  /** Items that the model was given between passes; no client sees them. */
  readonly given: GivenItems[];
  /** The key of the item that is announced next, where a provider gave it one. */
  nextKey: string | null;
  /** Characters of output so far: what MAX_OUTPUT_CHARACTERS bounds. */
  characters: number;
  /** Whether the terminal event was written. */
  ended: boolean;
}

/** What is known of one question to one model. */
export interface PassState {
  /** Output items that stood before this pass. */
  readonly firstIndex: number;
  /** What the model reported; null when it reported nothing. */
  usage: Required<TokenCounts> | null;
  /** Who answered; null until that is known. */
  origin: Origin | null;
}

/** An output item, open or finished. */
export type ItemState = FinishedItem | OpenItemState;

/** An output item that still takes events. */
export type OpenItemState = MessageState | ReasoningState | CallState | PassThroughState;

/** An item that takes no more events: as an object for the store, and as the JSON text of its place in the Response. */
export interface FinishedItem {
  readonly kind: 'finished';
  readonly item: Item;
  readonly json: string;
}

interface OpenState {
  readonly id: string;
  /** What a provider calls it; null for the one item that events without a key write to. */
  readonly key: string | null;
}

/** Text that grows. `isDone` says that its `done` event was written, and only the part is still to be closed. */
export interface TextState {
  text: string;
  isDone: boolean;
}

/** A part of a message that grows. */
export interface PartState extends TextState {
  readonly type: 'output_text' | 'refusal';
  readonly annotations: Annotation[];
  readonly logprobs: Logprob[];
}

/** An assistant message. */
export interface MessageState extends OpenState {
  readonly kind: 'message';
  /** Closed parts. */
  readonly content: ContentPart[];
  part: PartState | null;
}

/** A reasoning item. */
export interface ReasoningState extends OpenState {
  readonly kind: 'reasoning';
  /** Closed summary parts. */
  readonly summaries: ContentPart[];
  summary: TextState | null;
  text: TextState | null;
  /** The raw reasoning, once it is closed. */
  content: ContentPart | null;
  encrypted: string | null;
}

/** A call of a function or a custom tool. */
export interface CallState extends OpenState, TextState {
  readonly kind: 'call';
  readonly type: 'function_call' | 'custom_tool_call';
  readonly callId: string;
  readonly name: string;
  readonly namespace: string | undefined;
}

/** An item that is passed through, as it was shown last. */
export interface PassThroughState extends OpenState {
  readonly kind: 'other';
  item: Item;
}

/**
 * What no event carries before the terminal one. Notes are written beside the events, have no number of their own and are never
 * sent; each says before which event it was written.
 */
export type AssemblerNote = { readonly before: number } & NoteBody;

/** What a note says. */
export type NoteBody =
  /** A pass begins. */
  | { readonly type: 'pass' }
  /** A policy gave the model items. */
  | { readonly type: 'given'; readonly items: readonly Item[] }
  /** The model reported tokens, beyond what it reported before. */
  | { readonly type: 'usage'; readonly tokens: Required<TokenCounts> }
  /** Who answers. */
  | { readonly type: 'origin'; readonly origin: Origin }
  /** The next item has a key, or after all none. */
  | { readonly type: 'key'; readonly key: string | null }
  /** The encrypted form of a reasoning item. */
  | { readonly type: 'encrypted'; readonly outputIndex: number; readonly content: string };

/** What an item, or an event that is passed through, counts beyond its text: without end, they would fill the memory as well. */
export const OVERHEAD_CHARACTERS = 32;

/** The state of a response that has not begun. */
export function emptyState(): AssemblerState {
  return {
    sequenceNumber: 0,
    opening: 'none',
    items: [],
    passes: [],
    given: [],
    nextKey: null,
    characters: 0,
    ended: false,
  };
}

/** What several reports of tokens come to. */
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
