import { isObject, parseJson } from '../../../validation/index.js';

/** JSON escapes of one letter. */
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/** Characters in which the string must begin; otherwise the JSON is parsed at its end. */
const LONGEST_HEAD = 1000;

/**
 * Decodes the string in `{"input":"…"}` as the JSON arrives. If the JSON has another form, its raw text is the result.
 */
export class StringMemberReader {
  private readonly head: RegExp;
  /** Undecoded JSON: all of it until the string begins, then at most a part of an escape or half a surrogate pair. */
  private rest = '';
  private state: 'before' | 'within' | 'behind' = 'before';

  constructor(private readonly member: string) {
    this.head = new RegExp(`^\\s*\\{\\s*"${member}"\\s*:\\s*"`);
  }

  /** Adds a piece of JSON; returns the newly decoded text. */
  feed(piece: string): string {
    if (this.state === 'behind') return '';
    this.rest += piece;
    // The first piece may be the whole JSON.
    if (this.state === 'before' && (this.rest.length < LONGEST_HEAD || this.rest.length === piece.length)) this.begin();
    return this.state === 'within' ? this.decode() : '';
  }

  /** Ends the JSON; returns the remaining text. */
  end(): string {
    if (this.state !== 'before') return isHighSurrogate(this.rest.charCodeAt(0)) ? this.rest.charAt(0) : '';
    const value = parseJson(this.rest);
    const text = isObject(value) ? value[this.member] : value;
    return typeof text === 'string' ? text : this.rest;
  }

  private begin(): void {
    const start = this.head.exec(this.rest)?.[0].length;
    if (start === undefined) return;
    this.rest = this.rest.slice(start);
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
      if (rest[at] === '"') this.state = 'behind';
      const length = rest[at + 1] === 'u' ? 6 : 2;
      // An incomplete escape waits for the next piece.
      if (rest[at] !== '\\' || at + length > rest.length) break;
      text += length === 6 ? decodeUnit(rest.slice(at + 2, at + 6)) : decodeEscape(rest.charAt(at + 1));
      at += length;
    }
    return this.holdBackHalf(text, this.state === 'behind' ? '' : rest.slice(at));
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
