import type { TypoSearch } from './typo-search.js';
import type { Violation } from './violation.js';

/** What happens to members that a closed class does not know. */
export type UnknownParameters = 'typos' | 'ignore' | 'reject';

/** Options of a validation. */
export interface CheckOptions {
  /** Handling of unknown members of closed classes: misspelt ones are refused, none, or all. */
  readonly unknownParameters: UnknownParameters;
  /** Required with `typos`. */
  readonly typos?: TypoSearch;
  /** Further members that every object of the value may have. */
  readonly anywhere?: ReadonlySet<string> | undefined;
  /** Names of rules that do not apply to the value. */
  readonly tolerated?: ReadonlySet<string> | undefined;
}

/** Checks a value without changing it; returns the first violation or null. */
export type Check = (value: unknown, options: CheckOptions) => Violation | null;
