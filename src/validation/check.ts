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

/** A JSON object, as opposed to an array or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The elements of an array; empty for other values. */
export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The JSON objects among the elements of an array; empty for other values. */
export function objectsIn(value: unknown): readonly Record<string, unknown>[] {
  return listIn(value).filter(isObject);
}
