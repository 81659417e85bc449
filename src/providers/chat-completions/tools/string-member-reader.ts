import { isObject } from '../../../validation/index.js';

/** What a letter behind a backslash stands for in JSON. */
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/** Where the text has not begun by then, it is looked for when all is there. */
const LONGEST_HEAD = 1000;

/**
 * Reads the one text in `{"input":"…"}` while the JSON is still growing. Where a model writes something else in its place, what
 * it wrote is taken as the text.
 */
export class StringMemberReader {
  private readonly head: RegExp;
  private json = '';
  /** Where the text goes on in `json`; undefined until it has begun. */
  private position: number | undefined;
  private given = 0;
  private ended = false;

  constructor(private readonly member: string) {
    this.head = new RegExp(`^\\s*\\{\\s*"${member}"\\s*:\\s*"`);
  }

  /** Adds a piece of JSON; gives what is new of the text. */
  feed(piece: string): string {
    this.json += piece;
    if (this.ended) return '';
    if (this.json.length < LONGEST_HEAD) this.position ??= this.head.exec(this.json)?.[0].length;
    return this.position === undefined ? '' : this.decode(this.position);
  }

  /** What of the text was not given yet, now that nothing more comes. */
  end(): string {
    if (this.given > 0 || this.ended) return '';
    try {
      const value: unknown = JSON.parse(this.json);
      const text = isObject(value) ? value[this.member] : value;
      return typeof text === 'string' ? text : this.json;
    } catch {
      return this.position === undefined ? this.json : '';
    }
  }

  private decode(from: number): string {
    let text = '';
    let at = from;
    while (at < this.json.length) {
      const letter = this.json.charAt(at);
      if (letter === '"') {
        this.ended = true;
        break;
      }
      if (letter !== '\\') {
        const next = this.nextMark(at);
        text += this.json.slice(at, next);
        at = next;
        continue;
      }
      const length = this.json[at + 1] === 'u' ? 6 : 2;
      // An escape that is not whole yet waits for its other half.
      if (at + length > this.json.length) break;
      text += length === 6 ? decodeUnit(this.json.slice(at + 2, at + 6)) : decodeEscape(this.json.charAt(at + 1));
      at += length;
    }
    this.position = at;
    this.given += text.length;
    return text;
  }

  private nextMark(from: number): number {
    for (let at = from; at < this.json.length; at += 1) {
      const code = this.json.charCodeAt(at);
      if (code === 0x22 || code === 0x5c) return at;
    }
    return this.json.length;
  }
}

function decodeEscape(letter: string): string {
  return ESCAPES[letter] ?? letter;
}

function decodeUnit(hexadecimal: string): string {
  const unit = Number.parseInt(hexadecimal, 16);
  return Number.isNaN(unit) ? '' : String.fromCharCode(unit);
}
