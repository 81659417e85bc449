import type { ModelEvent } from '../providers/index.js';

/** A step of a simulated model: an event, or simulated behaviour. */
export type Step =
  | ModelEvent
  /** A pause, ms at speed 1. */
  | { readonly type: 'pause'; readonly ms: number }
  /** Hidden reasoning tokens, which add latency. */
  | { readonly type: 'think'; readonly tokens: number }
  | { readonly type: 'throw'; readonly error: Error }
  /** Writes an invalid event. */
  | { readonly type: 'garble' }
  /** Ends the model's stream without a `finish`. */
  | { readonly type: 'leave' };

/** The planned steps of a turn. */
export interface Plan {
  readonly steps: Iterable<Step>;
  /** Tokens to report with the `finish`; null if the steps report usage. */
  readonly written: { readonly output: number; readonly reasoning: number } | null;
}

const WRITTEN_PIECE_BY_PIECE: ReadonlySet<string> = new Set([
  'text',
  'refusal',
  'reasoning',
  'reasoning_summary',
  'function_call_arguments',
  'custom_tool_call_input',
] satisfies ModelEvent['type'][]);

/** Whether a step is a delta. */
export function isDelta({ type }: Step): boolean {
  return WRITTEN_PIECE_BY_PIECE.has(type);
}
