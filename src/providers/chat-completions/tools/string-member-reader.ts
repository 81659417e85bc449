import { isObject, parseJson } from '../../../validation/index.js';

/** JSON escapes of one letter. */
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/** Characters in which the string must begin; otherwise the JSON is parsed at its end. */
const LONGEST_HEAD = 1000;

/** The beginning of an object, up to the text of its first member. */
const HEAD = /^\s*\{\s*"([^"\\]*)"\s*:\s*"/;

/** The end of an object behind its last member. */
const ENDING = /^\s*\}\s*$/;

/** The beginning of an object or a string. */
const BEGUN = /^\s*(?:\{\s*(?:"|$)|")/;

/**
 * Decodes the string in `{"input":"…"}` as the JSON arrives. A string that is the only member of an object, whatever its name, is found at
 * the end. If the JSON has another form, its raw text is the result.
 */
export class StringMemberReader {
  /**
   * Undecoded JSON: all of it until the string begins, then at most a part of an escape or half a surrogate pair, and in the end what
   * follows the string.
   */
  private rest = '';
  private state: 'before' | 'within' | 'behind' = 'before';

  constructor(private readonly member: string) {}

  /** Adds a piece of JSON; returns the newly decoded text. */
  feed(piece: string): string {
    this.rest += piece;
    if (this.state === 'behind') return '';
    // The first piece may be the whole JSON.
    if (this.state === 'before' && (this.rest.length < LONGEST_HEAD || this.rest.length === piece.length)) this.begin();
    return this.state === 'within' ? this.decode() : '';
  }

  /**
   * Whether the JSON is complete, after its last piece: an object with the string, a string, or something that was not begun as either.
   * Unescaped line breaks are no fault: many models write them.
   */
  get isWhole(): boolean {
    if (this.state === 'within') return false;
    if (this.state === 'behind') return this.isWholeBehind();
    return parseJson(this.rest) !== undefined || this.onlyText() !== undefined || !BEGUN.test(this.rest);
  }

  /** Ends the JSON; returns the remaining text. */
  end(): string {
    if (this.state === 'behind') return '';
    if (this.state === 'within') return isHighSurrogate(this.rest.charCodeAt(0)) ? this.rest.charAt(0) : '';
    const value = parseJson(this.rest);
    const text = isObject(value) ? value[this.member] : value;
    return typeof text === 'string' ? text : (this.onlyText() ?? this.rest);
  }

  /** The string that is the only member of an object; undefined if there is something else. */
  private onlyText(): string | undefined {
    const member = HEAD.exec(this.rest)?.[1];
    if (member === undefined || member === this.member) return undefined;
    const reader = new StringMemberReader(member);
    const text = reader.feed(this.rest);
    return reader.state === 'behind' && ENDING.test(reader.rest) ? text : undefined;
  }

  /** Whether the object ends behind the string, or has only other members there. */
  private isWholeBehind(): boolean {
    const { rest, member } = this;
    if (ENDING.test(rest)) return true;
    const others = parseJson(`{"":""${rest}`);
    return isObject(others) && !Object.hasOwn(others, member);
  }

  private begin(): void {
    const [head, member] = HEAD.exec(this.rest) ?? [];
    if (head === undefined || member !== this.member) return;
    this.rest = this.rest.slice(head.length);
    this.state = 'within';
  }

  private decode(): string {
    const { rest } = this;
    let text = '';
    let at = 0;
    while (at < rest.length) {
      const next = nextMark(rest, at);
      text += rest.slice(at, next);
      at = next;
      if (rest[at] === '"') {
        this.state = 'behind';
        at += 1;
        break;
      }
      const length = rest[at + 1] === 'u' ? 6 : 2;
      // An incomplete escape waits for the next piece.
      if (rest[at] !== '\\' || at + length > rest.length) break;
      text += length === 6 ? decodeUnit(rest.slice(at + 2, at + 6)) : decodeEscape(rest.charAt(at + 1));
      at += length;
    }
    return this.holdBackHalf(text, rest.slice(at));
  }

  /** Holds back a high surrogate until the low surrogate arrives. */
  private holdBackHalf(text: string, undecoded: string): string {
    const isTorn = this.state === 'within' && isHighSurrogate(text.charCodeAt(text.length - 1));
    this.rest = isTorn ? text.slice(-1) + undecoded : undecoded;
    return isTorn ? text.slice(0, -1) : text;
  }
}

/** The index of the next quote or backslash. */
function nextMark(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22 || code === 0x5c) return at;
  }
  return text.length;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function decodeEscape(letter: string): string {
  return ESCAPES[letter] ?? letter;
}

function decodeUnit(hexadecimal: string): string {
  const unit = Number.parseInt(hexadecimal, 16);
  return Number.isNaN(unit) ? '' : String.fromCharCode(unit);
}
