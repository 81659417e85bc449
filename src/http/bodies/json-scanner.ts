import { ApiError } from '../../protocol/index.js';
import { clip } from '../../validation/index.js';

/** Limits of the JSON that a client sends, whatever it means. */
export interface JsonLimits {
  /** Objects, arrays, texts, numbers, booleans and nulls together. */
  readonly values: number;
  /** Different names of members. */
  readonly names: number;
  /** Levels of objects and arrays. */
  readonly levels: number;
}

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Bytes of a text that are read one by one; beyond them the native search for its end is faster. */
const SHORT_TEXT = 48;

/** Bytes of a name. Names are parts of paths in messages, which cost more than once. */
const LONGEST_NAME = 16 * 1024;

/** Up to this many names are taken for different ones. */
const COUNTED_NAMES = 4096;

/** Bits of the table of names: with 50,000 names it misses one in forty. */
const NAME_BITS = 1 << 20;

/** A random start of FNV-1a, so that clients cannot choose names with the same hash. */
const SEED = Math.floor(Math.random() * 0x1_0000_0000);

/**
 * Counts the values, names and levels of JSON over its bytes, before it is parsed: what is parsed has then a bounded cost.
 * Linear in the bytes, and can be interrupted. JSON that is not valid is left to the parser.
 */
export class JsonScanner {
  private position = 0;
  private level = 0;
  private values = 1;
  private names = 0;
  private isInText = false;
  /** Whether the text is a name: in an object, after `{` or `,`. */
  private isName = false;
  private textStart = 0;
  /** Whether the container of each level is an object. */
  private readonly isObject: boolean[] = [];
  /** The last byte outside texts and spaces, to recognise an empty container. */
  private last = 0;
  private knownNames: Uint32Array | null = null;
  private member: readonly [start: number, end: number] | null = null;

  constructor(
    private readonly bytes: Buffer,
    private readonly limits: JsonLimits,
  ) {}

  /**
   * Reads on, up to about `position`. Returns whether this was the end. Throws ApiError 400 `invalid_value` for too many
   * levels and for a name that is too long, and 413 `request_too_large` for too many values or names.
   */
  scan(position: number): boolean {
    const { bytes } = this;
    const end = Math.min(position, bytes.length);
    if (this.isInText) this.readText(this.position, end);
    let at = this.position;
    let { last } = this;
    while (at < end) {
      const byte = bytes[at] ?? 0;
      at += 1;
      // Most bytes outside texts are digits, letters and spaces.
      if (byte === COMMA) {
        this.values += 1;
        this.limitValues();
        this.isName = this.isObject[this.level] === true;
      } else if (byte === QUOTE) {
        at = this.readText(at, end);
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.open(byte === OPEN_OBJECT);
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        this.close(last === OPEN_OBJECT || last === OPEN_ARRAY);
      }
      if (byte > SPACE) last = byte;
    }
    this.position = at;
    this.last = last;
    return at >= bytes.length;
  }

  /** Every container begins with the place for one value. */
  private open(isObject: boolean): void {
    this.values += 1;
    this.level += 1;
    if (this.level > this.limits.levels) {
      const subject = this.param === null ? 'request' : `'${this.param}'`;
      const expected = `Expected at most ${this.limits.levels} levels of objects and arrays.`;
      throw ApiError.of('invalid_value', `Invalid ${subject}: nested too deeply. ${expected}`, { param: this.param });
    }
    this.isObject[this.level] = isObject;
    this.isName = isObject;
  }

  private close(isEmpty: boolean): void {
    if (isEmpty) this.values -= 1;
    this.limitValues();
    if (this.level > 0) this.level -= 1;
    this.isName = false;
  }

  private limitValues(): void {
    if (this.values > this.limits.values) throw this.tooMany('values', this.limits.values);
  }

  /** Reads a text from `start`, or goes on with it. Returns where reading continues: after it, or at the end of the slice. */
  private readText(start: number, end: number): number {
    if (!this.isInText) this.textStart = start;
    const quote = this.findQuote(start, end);
    this.isInText = quote < 0;
    if (this.isInText) return this.position;
    this.position = quote + 1;
    if (this.isName) {
      this.isName = false;
      if (this.level === 1) this.member = [this.textStart, quote];
      this.countName(this.textStart, quote);
    }
    return this.position;
  }

  /** The position of the closing quote; -1 when it is beyond the slice, and the position where the search goes on. */
  private findQuote(start: number, end: number): number {
    const { bytes } = this;
    let at = start;
    while (at < end) {
      const near = Math.min(at + SHORT_TEXT, end);
      while (at < near) {
        const byte = bytes[at];
        if (byte === QUOTE) return at;
        at += byte === BACKSLASH ? 2 : 1;
      }
      if (at >= end) break;
      const quote = bytes.indexOf(QUOTE, at);
      if (quote < 0) {
        at = bytes.length;
        break;
      }
      let escapes = quote;
      while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes -= 1;
      if ((quote - escapes) % 2 === 0) return quote;
      at = quote + 1;
    }
    this.position = at;
    return -1;
  }

  private countName(start: number, end: number): void {
    if (end - start > LONGEST_NAME) {
      const message = `Invalid request: the name of a member has more than ${LONGEST_NAME} bytes.`;
      throw ApiError.of('invalid_value', message, { param: this.level === 1 ? null : this.param });
    }
    if (this.names < COUNTED_NAMES) {
      this.names += 1;
    } else {
      this.knownNames ??= new Uint32Array(NAME_BITS / 32);
      let hash = SEED;
      for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (this.bytes[at] ?? 0), 0x0100_0193);
      const slot = (hash ^ (hash >>> 15)) & (NAME_BITS - 1);
      const bit = 1 << (slot & 31);
      const word = this.knownNames[slot >>> 5] ?? 0;
      if ((word & bit) !== 0) return;
      this.knownNames[slot >>> 5] = word | bit;
      this.names += 1;
    }
    if (this.names > this.limits.names) throw this.tooMany('different names', this.limits.names);
  }

  /** The member of the request that is being read; null outside of one. */
  private get param(): string | null {
    if (this.member === null) return null;
    const [start, end] = this.member;
    return clip(this.bytes.toString('utf8', start, Math.min(end, start + 200)));
  }

  private tooMany(what: string, limit: number): ApiError {
    const message = `The request has more than ${limit} ${what}, the most that this server accepts.`;
    return ApiError.of('request_too_large', message, { param: this.param });
  }
}
