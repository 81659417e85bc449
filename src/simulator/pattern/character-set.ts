import { findSamples } from './find-samples.js';

/** Flags that decide which characters a part of a pattern means. */
export interface CharacterFlags {
  readonly unicode: boolean;
  readonly ignoreCase: boolean;
  readonly dotAll: boolean;
}

/** The characters that a literal, an escape or a class of a pattern means. */
export interface CharacterSet {
  /** Whether a code point is in it; a code unit where the pattern is not one of Unicode. */
  has(code: number): boolean;
  /** Some that are in it, as code points: letters and digits if there are any. None for a set of rare characters. */
  readonly samples: readonly number[];
}

const ASCII = 128;
/** Other characters whose membership is remembered. */
const MOST_REMEMBERED = 4096;

/** V8 decides about the characters, one at a time: that takes no longer for any pattern. */
class AskedCharacterSet implements CharacterSet {
  /** 1: in the set; -1: not in it; 0: not known yet. */
  private readonly ascii = new Int8Array(ASCII);
  private readonly others = new Map<number, boolean>();
  private expression: RegExp | null = null;
  private found: readonly number[] | null = null;

  constructor(
    private readonly source: string,
    private readonly flags: CharacterFlags,
  ) {}

  get samples(): readonly number[] {
    this.found ??= findSamples(this.source, (code) => this.has(code));
    return this.found;
  }

  has(code: number): boolean {
    if (code >= ASCII) return this.hasOther(code);
    let known = this.ascii[code];
    if (known === 0) this.ascii[code] = known = this.ask(code) ? 1 : -1;
    return known === 1;
  }

  private hasOther(code: number): boolean {
    let known = this.others.get(code);
    if (known === undefined) {
      known = this.ask(code);
      if (this.others.size < MOST_REMEMBERED) this.others.set(code, known);
    }
    return known;
  }

  private ask(code: number): boolean {
    const { unicode, ignoreCase, dotAll } = this.flags;
    const flags = `${unicode ? 'u' : ''}${ignoreCase ? 'i' : ''}${dotAll ? 's' : ''}`;
    this.expression ??= new RegExp(`^(?:${this.source})$`, flags);
    return this.expression.test(String.fromCodePoint(code));
  }
}

/** The characters of `.`, an escape or a class. */
export function setOfSource(source: string, flags: CharacterFlags): CharacterSet {
  return new AskedCharacterSet(source, flags);
}

/** One character; with `ignoreCase` also its other cases. */
export function setOfCharacter(code: number, flags: CharacterFlags): CharacterSet {
  if (!flags.ignoreCase) return { has: (other) => other === code, samples: [code] };
  const hex = code.toString(16);
  return setOfSource(flags.unicode ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`, flags);
}
