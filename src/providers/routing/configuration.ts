import type { Price } from '../provider-kind.js';
import type { ModelEntry } from './providers-file.js';
import type { Destination } from './target.js';

/** The providers and models of PROVIDERS_FILE. */
export interface Configuration {
  /** Whether the file has no content: no text, or only comments. */
  readonly isBlank: boolean;
  readonly destinations: ReadonlyMap<string, Destination>;
  readonly models: readonly ModelEntry[];
  /** Requests to upstreams for one turn, over all upstreams and their retries. */
  readonly attempts: number;
  /** Values to redact from errors, logs and recordings. */
  readonly secrets: readonly string[];
  /** What models cost, by the names of providers and globs of the names of models at their upstreams. */
  readonly prices: ReadonlyMap<string, Readonly<Record<string, Price>>>;
  /** Additional request members that any provider forwards. */
  readonly forwarded: ReadonlySet<string>;
  /** Another file has replaced this one. */
  retire(): void;
  /** Closes all connections. */
  destroy(): Promise<void>;
}
