const LETTERS = toCodes('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789');

const SIGNS = toCodes(' _-.,:/@+=#!?%&*()[]{}<>|;~^$"\'`\\\t\n\r');

const FOREIGN = toCodes('éßñçŁΩλяאعअกあア中한€£°½–…→✓🙂\u00a0\u0300');

/** A character in the source of a class: as it is, or an escape. */
const WRITTEN = /\\u\{([\da-fA-F]{1,5})\}|\\u([\da-fA-F]{4})|\\x([\da-fA-F]{2})|[^]/gu;

const MOST_WRITTEN = 64;

/** Characters after a written one, which may begin a range. */
const FOLLOWING = 16;

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

/** Some characters of a set: letters and digits, which mean nothing to any program, or else signs, or else others. */
function findSamples(source: string, has: (code: number) => boolean): readonly number[] {
  for (const list of [() => LETTERS, () => SIGNS, () => listWritten(source), () => FOREIGN]) {
    const found = list().filter(has);
    if (found.length > 0) return found;
  }
  return [];
}

function listWritten(source: string): readonly number[] {
  return [...source.slice(0, 8 * MOST_WRITTEN).matchAll(WRITTEN)]
    .slice(0, MOST_WRITTEN)
    .map(([written, ...codes]) => {
      const code = codes.join('');
      return code === '' ? (written.codePointAt(0) ?? 0) : parseInt(code, 16);
    })
    .flatMap((code) => Array.from({ length: FOLLOWING }, (_, after) => code + after));
}

function toCodes(characters: string): readonly number[] {
  return Array.from(characters, (character) => character.codePointAt(0) ?? 0);
}
