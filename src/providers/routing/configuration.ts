import type { ModelEntry } from './providers-file.js';
import type { Destination } from './target.js';

/** What the file configures. */
export interface Configuration {
  readonly destinations: ReadonlyMap<string, Destination>;
  readonly models: readonly ModelEntry[];
  /** What no client, log or recording may see. */
  readonly secrets: readonly string[];
  /** Request members that any of the providers takes. */
  readonly forwarded: ReadonlySet<string>;
  /** Hangs up on everything. */
  destroy(): Promise<void>;
}
