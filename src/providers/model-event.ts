import type { Annotation, ForeignItem, Logprob } from '../protocol/index.js';

/**
 * What a provider yields. Text, reasoning and calls need no ceremony: an item opens with its first event and closes when
 * another begins or the turn ends. Where several items run at once, each event names its own by `key`.
 */
export type ModelEvent =
  | { readonly type: 'text'; readonly delta: string; readonly logprobs?: readonly Logprob[]; readonly key?: string }
  | { readonly type: 'refusal'; readonly delta: string; readonly key?: string }
  | { readonly type: 'annotation'; readonly annotation: Annotation; readonly key?: string }
  /** Raw reasoning (`reasoning_text` parts). */
  | { readonly type: 'reasoning'; readonly delta: string; readonly key?: string }
  /** A reasoning summary; `part` counts from 0 and opens the next summary part when it grows by one. */
  | { readonly type: 'reasoning_summary'; readonly delta: string; readonly part?: number; readonly key?: string }
  /** Opens a reasoning item, which may stay empty: the model thought and shows nothing of it. */
  | { readonly type: 'reasoning_open'; readonly key?: string }
  /** What a stateless client replays to give the model its reasoning back; opens a reasoning item if none is open. */
  | { readonly type: 'reasoning_encrypted'; readonly content: string; readonly key?: string }
  /** Opens a function call. `callId` is made up when absent. */
  | {
      readonly type: 'function_call';
      readonly name: string;
      readonly callId?: string;
      readonly namespace?: string;
      readonly key?: string;
    }
  /** A piece of the open call's arguments (JSON text). */
  | { readonly type: 'function_call_arguments'; readonly delta: string; readonly key?: string }
  /** Opens a call of a custom (freeform) tool. */
  | {
      readonly type: 'custom_tool_call';
      readonly name: string;
      readonly callId?: string;
      readonly namespace?: string;
      readonly key?: string;
    }
  | { readonly type: 'custom_tool_call_input'; readonly delta: string; readonly key?: string }
  /** Closes the item of `key` before the turn ends, where items run side by side. */
  | { readonly type: 'end'; readonly key?: string }
  /**
   * Output items of any other type, passed through: ids and indexes of the envelope are rewritten, the rest is untouched.
   * `item` carries the item as the upstream shows it, `event` one of its stream events.
   */
  | { readonly type: 'item.open'; readonly key: string; readonly item: ForeignItem }
  | {
      readonly type: 'item.event';
      readonly key: string;
      readonly event: { readonly type: string; readonly [member: string]: unknown };
    }
  | { readonly type: 'item.close'; readonly key: string; readonly item: ForeignItem }
  /** Tokens, additive: what is reported in several events is added up. Output includes reasoning. */
  | {
      readonly type: 'usage';
      readonly input?: number;
      readonly cached?: number;
      readonly cacheWrite?: number;
      readonly output?: number;
      readonly reasoning?: number;
    }
  /**
   * Headers that must reach the client (they do if this comes first), the upstream's own id of the response, and the provider
   * that answers where one stands before several, with the name that the model has there.
   */
  | {
      readonly type: 'metadata';
      readonly headers?: Readonly<Record<string, string>>;
      readonly upstreamId?: string;
      readonly provider?: string;
      readonly model?: string;
    }
  /** Ends the pass; nothing after it is read. */
  | { readonly type: 'finish'; readonly reason: FinishReason };

/** Why the model stopped: by itself (or for tool calls), at a token limit, or by a content filter. */
export type FinishReason = 'stop' | 'length' | 'content_filter';

/** Whether several events were given at once. */
export function isBatch(output: ModelEvent | readonly ModelEvent[]): output is readonly ModelEvent[] {
  return Array.isArray(output);
}

/** Every type of ModelEvent. One that is missing or too much here does not compile. */
export const MODEL_EVENT_TYPES: ReadonlySet<unknown> = new Set(
  Object.keys({
    text: true,
    refusal: true,
    annotation: true,
    reasoning: true,
    reasoning_summary: true,
    reasoning_open: true,
    reasoning_encrypted: true,
    function_call: true,
    function_call_arguments: true,
    custom_tool_call: true,
    custom_tool_call_input: true,
    end: true,
    'item.open': true,
    'item.event': true,
    'item.close': true,
    usage: true,
    metadata: true,
    finish: true,
  } satisfies Record<ModelEvent['type'], true>),
);
