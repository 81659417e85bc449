import type { Annotation, ForeignItem, Logprob, OpaqueData } from '../protocol/index.js';

/**
 * An event of a provider's answer. An item opens with its first event and closes when another item begins or the turn ends. If
 * several items are open at once, each event names its item by `key`.
 */
export type ModelEvent =
  /** `part` counts the parts of text and refusal that the message's events write, from 0; by default they write to the last one. */
  | {
      readonly type: 'text';
      readonly delta: string;
      readonly logprobs?: readonly Logprob[];
      readonly part?: number;
      readonly key?: string;
    }
  | { readonly type: 'refusal'; readonly delta: string; readonly part?: number; readonly key?: string }
  | { readonly type: 'annotation'; readonly annotation: Annotation; readonly key?: string }
  /** Raw reasoning (`reasoning_text` parts); `part` as for text. */
  | { readonly type: 'reasoning'; readonly delta: string; readonly part?: number; readonly key?: string }
  /** A reasoning summary; `part` counts from 0 and opens the next summary part when it grows by one. */
  | { readonly type: 'reasoning_summary'; readonly delta: string; readonly part?: number; readonly key?: string }
  /** Opens a reasoning item, which may stay empty if the reasoning is hidden. */
  | { readonly type: 'reasoning_open'; readonly key?: string }
  /** `encrypted_content`, which stateless clients replay; opens a reasoning item if none is open. */
  | { readonly type: 'reasoning_encrypted'; readonly content: string; readonly key?: string }
  /**
   * The text of the reasoning, for `encrypted_content`: the service seals it for clients that keep it, and drops the event for others.
   * When a client sends the seal back, the provider finds the text in the `content` of the item. `opaque` is what the upstream demands
   * back: no client sees it but in the seal, and the service keeps it for others. A provider that `takesOpaqueData` finds it in the
   * member `opaque` of a reasoning item. With `opaque` the text may be empty; a reasoning item is made for it only if the client has
   * asked for seals.
   */
  | {
      readonly type: 'reasoning_encrypted';
      readonly plain: string;
      readonly opaque?: OpaqueData;
      readonly key?: string;
    }
  /** Opens a function call. `callId` is generated when absent. */
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
  /** Closes the item of `key` before the turn ends. */
  | { readonly type: 'end'; readonly key?: string }
  /**
   * Output items of any type as the upstream sends them: `item` with all its members, open and in its final form. Its id is kept
   * if it has the form of a unique one. An open message, reasoning item or call of a client's tool takes its own events, such as
   * `text`, and may take none: what its final form has beyond them is written when it closes. Others take `item.event`: an event
   * of the upstream's stream, whose indexes are rewritten.
   */
  | { readonly type: 'item.open'; readonly key: string; readonly item: ForeignItem }
  | { readonly type: 'item.event'; readonly key: string; readonly event: ForeignEvent }
  | { readonly type: 'item.close'; readonly key: string; readonly item: ForeignItem }
  /**
   * Items for the context alone, such as what a tool of the service has found: models are given them in this response and in those that go
   * on from it, and no client sees them. A call and its output belong into one event.
   */
  | { readonly type: 'hidden'; readonly items: readonly ForeignItem[] }
  /** An event that is not part of the protocol. Clients on sockets receive it; for others it is dropped and counted. */
  | { readonly type: 'event'; readonly event: ForeignEvent }
  /** Token counts, and searches of the web; those of several events are added up. Output includes reasoning. */
  | {
      readonly type: 'usage';
      readonly input?: number;
      readonly cached?: number;
      readonly cacheWrite?: number;
      readonly output?: number;
      readonly reasoning?: number;
      readonly searches?: number;
    }
  /**
   * Response headers for the client, sent if this is the first event; the upstream's id of the response; and the provider that
   * answers, with its name of the model, if one routes to several.
   */
  | {
      readonly type: 'metadata';
      readonly headers?: Readonly<Record<string, string>>;
      readonly upstreamId?: string;
      readonly provider?: string;
      readonly model?: string;
    }
  /** Ends the pass; later events are ignored. */
  | ({ readonly type: 'finish' } & Finish);

/** Reasoning that the service seals. */
export type PlainReasoning = Extract<ModelEvent, { readonly plain: string }>;

/** An event of an upstream's stream. */
export interface ForeignEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** How a model ended its answer. */
export interface Finish {
  readonly reason: FinishReason;
  /** `incomplete_details.reason` if it differs from that of `reason`; ignored for `stop`. */
  readonly incompleteReason?: string;
  /** The service tier that the upstream used; default: the one that was asked for. */
  readonly serviceTier?: string;
}

/** Why the model stopped: a normal end (including tool calls), a token limit, or a content filter. */
export type FinishReason = 'stop' | 'length' | 'content_filter';

/** Whether the output is a batch of events. */
export function isBatch(output: ModelEvent | readonly ModelEvent[]): output is readonly ModelEvent[] {
  return Array.isArray(output);
}

/** Whether the service seals what an event holds. */
export function isPlainReasoning(event: ModelEvent): event is PlainReasoning {
  // Not every provider is written in TypeScript.
  return (event as ModelEvent | null)?.type === 'reasoning_encrypted' && 'plain' in event;
}

/** Every type of ModelEvent. The compiler checks that it is complete. */
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
    hidden: true,
    event: true,
    usage: true,
    metadata: true,
    finish: true,
  } satisfies Record<ModelEvent['type'], true>),
);
