import { type CharacterFlags, type CharacterSet, setOfCharacter, setOfSource } from './character-set.js';

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

/** Groups within groups. */
const MOST_LEVELS = 250;

const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})(\??)/y;
const GROUP = /\((?:\?(?:(<?[=!])|<([^=!>][^>]*)>|([a-z]*)(?:-([a-z]*))?:))?/y;
const REFERENCE = /\\(?:([1-9]\d*)|k<([^>]*)>)/y;
/** An escape of one character, with the flag `u` and without; then the first digits may be octal. */
const UNICODE_ESCAPE =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|u\{[\da-fA-F]+\}|[pP]\{[^}]*\}|x[\da-fA-F]{2}|c[a-zA-Z]|[^])/y;
const PLAIN_ESCAPE = /\\(?:u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[a-zA-Z]|[0-3][0-7]{0,2}|[4-7][0-7]?|(?=c)|[^])/y;
const CLASS = /\[(?:[^\]\\]|\\[^])*\]/y;

/** Flags that may change within a pattern. */
interface Modifiers extends CharacterFlags {
  readonly multiline: boolean;
}

/** More than this V8 does not count, either. */
const MOST_REPETITIONS = 2 ** 31 - 1;

/** Reads a pattern that `RegExp` accepts with the flags. Throws RangeError if it nests too deeply. */
export function parsePattern(source: string, { unicode, ignoreCase, multiline, dotAll }: RegExp): PatternNode {
  return new PatternParser(source, { unicode, ignoreCase, multiline, dotAll }).parse();
}

class PatternParser {
  private at = 0;
  private levels = 0;
  /** Groups that began before `at`. */
  private captures = 0;
  private readonly groups: ReturnType<typeof listGroups>;
  private readonly sets = new Map<string, CharacterSet>();

  constructor(
    private readonly source: string,
    private modifiers: Modifiers,
  ) {
    this.groups = listGroups(source);
  }

  parse(): PatternNode {
    const options = [this.readSequence()];
    while (this.source[this.at] === '|') {
      this.at += 1;
      options.push(this.readSequence());
    }
    return options.length === 1 && options[0] !== undefined ? options[0] : { type: 'choice', options };
  }

  private readSequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (this.at < this.source.length && this.source[this.at] !== '|' && this.source[this.at] !== ')') {
      const first = this.captures;
      parts.push(this.readRepeat(this.readTerm(), first));
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { type: 'sequence', parts };
  }

  private readRepeat(body: PatternNode, first: number): PatternNode {
    const [text, sign, least, comma, most, lazy] = this.take(QUANTIFIER) ?? [];
    if (text === undefined) return body;
    const from = least === undefined ? (sign === '+' ? 1 : 0) : toCount(least);
    const bounded = comma === undefined ? from : most === '' || most === undefined ? Infinity : toCount(most);
    const to = least === undefined ? (sign === '?' ? 1 : Infinity) : bounded;
    const captures = [first + 1, this.captures + 1] as const;
    return { type: 'repeat', body, least: from, most: to, isLazy: lazy === '?', captures };
  }

  private readTerm(): PatternNode {
    const sign = this.source[this.at];
    switch (sign) {
      case '^':
      case '$':
        this.at += 1;
        return this.edge(sign === '^' ? 'start' : 'end');
      case '(':
        return this.readGroup();
      case '.':
        this.at += 1;
        return this.character(sign);
      case '[':
        return this.character(this.take(CLASS)?.[0] ?? sign);
      case '\\':
        return this.readEscape();
      default:
        return this.readLiteral();
    }
  }

  private readGroup(): PatternNode {
    if (++this.levels > MOST_LEVELS) throw new RangeError(`more than ${MOST_LEVELS} groups within groups`);
    const outer = this.modifiers;
    const [, look, , added, removed = ''] = this.take(GROUP) ?? [];
    const isCapture = look === undefined && added === undefined;
    const capture = isCapture ? ++this.captures : 0;
    for (const [flags, value] of [[added ?? '', true] as const, [removed, false] as const]) {
      for (const flag of flags) this.modifiers = { ...this.modifiers, [MODIFIERS[flag] ?? flag]: value };
    }
    const body = this.parse();
    this.at += 1;
    this.modifiers = outer;
    this.levels -= 1;
    if (isCapture) return { type: 'capture', capture, body };
    if (look === undefined) return body;
    return { type: 'look', isBehind: look.startsWith('<'), isNegative: look.endsWith('!'), body };
  }

  private readEscape(): PatternNode {
    const next = this.source[this.at + 1];
    if (next === 'b' || next === 'B') {
      this.at += 2;
      return this.edge(next === 'b' ? 'word' : 'noWord');
    }
    const start = this.at;
    const [, digits, name] = this.take(REFERENCE) ?? [];
    const captures = digits === undefined ? this.groups.names.get(readName(name ?? '')) : [Number(digits)];
    // Without `u`, other numbers are octal, and \k is a letter where no group has a name.
    if (captures?.every((capture) => capture <= this.groups.count) === true) {
      const flags = this.modifiers;
      return { type: 'reference', captures, same: (code) => setOfCharacter(code, flags) };
    }
    this.at = start;
    const [escape = ''] = this.take(this.modifiers.unicode ? UNICODE_ESCAPE : PLAIN_ESCAPE) ?? [];
    // Without a letter after it, \c is a backslash and a c.
    return escape === '\\' ? this.character('\\\\') : this.character(escape);
  }

  private readLiteral(): PatternNode {
    const { unicode } = this.modifiers;
    const code = (unicode ? this.source.codePointAt(this.at) : this.source.charCodeAt(this.at)) ?? 0;
    this.at += code > 0xffff ? 2 : 1;
    return { type: 'character', set: setOfCharacter(code, this.modifiers) };
  }

  private character(source: string): PatternNode {
    return { type: 'character', set: this.setOf(source) };
  }

  private setOf(source: string): CharacterSet {
    const { unicode, ignoreCase, dotAll } = this.modifiers;
    const key = `${String(ignoreCase)} ${String(dotAll)} ${source}`;
    let set = this.sets.get(key);
    if (set === undefined) {
      this.sets.set(key, (set = setOfSource(source, { unicode, ignoreCase, dotAll })));
    }
    return set;
  }

  private edge(edge: EdgeNode['edge']): PatternNode {
    return { type: 'edge', edge, multiline: this.modifiers.multiline, word: this.setOf('\\w') };
  }

  private take(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.at;
    const taken = expression.exec(this.source);
    if (taken !== null) this.at = expression.lastIndex;
    return taken;
  }
}

const MODIFIERS: Readonly<Record<string, keyof Modifiers>> = { i: 'ignoreCase', m: 'multiline', s: 'dotAll' };

function toCount(digits: string): number {
  return Math.min(Number(digits), MOST_REPETITIONS);
}

/** Whatever may hold a parenthesis that is no group; and groups that capture, with their names. */
const TOKEN = /\\[^]|\[(?:[^\]\\]|\\[^])*\]|\((?!\?)|\(\?<(?![=!])([^>]*)>/g;

/** The groups of a pattern that capture, and their numbers by name; parts of a choice may have groups of the same name. */
export function listGroups(source: string): {
  readonly count: number;
  readonly names: ReadonlyMap<string, readonly number[]>;
} {
  const names = new Map<string, number[]>();
  let count = 0;
  for (const [token, name] of source.matchAll(TOKEN)) {
    if (!token.startsWith('(')) continue;
    count += 1;
    if (name === undefined) continue;
    const numbers = names.get(readName(name));
    if (numbers === undefined) names.set(readName(name), [count]);
    else numbers.push(count);
  }
  return { count, names };
}

/** The name of a group, whose characters may be written as escapes. */
function readName(name: string): string {
  return name.replaceAll(/\\u(?:\{([^}]*)\}|(.{4}))/g, (_, long?: string, short?: string) =>
    String.fromCodePoint(parseInt(long ?? short ?? '', 16)),
  );
}
