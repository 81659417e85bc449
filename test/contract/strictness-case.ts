import type { ToleratedRule } from '../../src/index.js';

/** A request that OpenAI refuses, and with what. */
export interface StrictCase {
  readonly name: string;
  readonly rule: ToleratedRule;
  readonly body: object;
  readonly error: { readonly code: string | null; readonly param: string; readonly message: string };
}
