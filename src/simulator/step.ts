import type { ModelEvent } from '../providers/index.js';

/** One thing the simulated model does: it says something, or it behaves as models and networks do. */
export type Step =
  | ModelEvent
  /** Silence, ms at the usual speed. */
  | { readonly type: 'pause'; readonly ms: number }
  /** Tokens of thought that nobody sees; they take their time. */
  | { readonly type: 'think'; readonly tokens: number }
  | { readonly type: 'throw'; readonly error: Error }
  /** Says what no model may say. */
  | { readonly type: 'garble' }
  /** Ends the model's stream without a `finish`. */
  | { readonly type: 'leave' };

/** What the model will do in a turn, before the first event of it. */
export interface Plan {
  readonly steps: Iterable<Step>;
  /** Tokens the model reports with its `finish`; null where the steps report their own. */
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

/** Whether a step is a piece of something that is written bit by bit. */
export function isDelta({ type }: Step): boolean {
  return WRITTEN_PIECE_BY_PIECE.has(type);
}
