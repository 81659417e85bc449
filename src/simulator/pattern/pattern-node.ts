import type { CharacterSet } from './character-set.js';

/** A part of a regular expression. */
export type PatternNode =
  | { readonly type: 'character'; readonly set: CharacterSet }
  | { readonly type: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly type: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly type: 'capture'; readonly capture: number; readonly body: PatternNode }
  | RepeatNode
  | { readonly type: 'look'; readonly isBehind: boolean; readonly isNegative: boolean; readonly body: PatternNode }
  | EdgeNode
  | ReferenceNode;

/** `body` several times. */
export interface RepeatNode {
  readonly type: 'repeat';
  readonly body: PatternNode;
  readonly least: number;
  readonly most: number;
  readonly isLazy: boolean;
  /** The captures in the body, which each repetition forgets: from the first on, before the last. */
  readonly captures: readonly [first: number, end: number];
}

/** A place between two characters. */
export interface EdgeNode {
  readonly type: 'edge';
  readonly edge: 'start' | 'end' | 'word' | 'noWord';
  /** The flag `m`. */
  readonly multiline: boolean;
  /** The characters of words. */
  readonly word: CharacterSet;
}

/** What a group has captured, once more. */
export interface ReferenceNode {
  readonly type: 'reference';
  /** Several groups may have one name; one of them has captured something at most. */
  readonly captures: readonly number[];
  /** The characters that are the same as one, by `i`. */
  readonly same: (code: number) => CharacterSet;
}
