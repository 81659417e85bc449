import type { ModelEvent } from '../../src/index.js';
import type { Script } from '../../src/testing/index.js';

/** A turn that every transport must answer alike. */
export interface ParityTurn {
  readonly name: string;
  /** Members of the request besides model and input. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly model: readonly ModelEvent[] | Script;
  /** What the Response must show, so that being alike is not being empty. */
  readonly expected: Readonly<Record<string, unknown>>;
  /** Event types that must be among those of a streaming transport. */
  readonly events?: readonly string[];
}

/** Tokens as a provider reports them. */
export const usage: ModelEvent = { type: 'usage', input: 11, cached: 4, cacheWrite: 2, output: 7, reasoning: 3 };

/** An assistant message as `toMatchObject` wants it. */
export const message = (...content: readonly object[]): object => ({ type: 'message', role: 'assistant', content });

/** A text part, whole. */
export const outputText = (text: string, more: object = {}): object => ({
  type: 'output_text',
  text,
  annotations: [],
  logprobs: [],
  ...more,
});
