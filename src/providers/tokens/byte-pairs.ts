import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';

import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';

import type { Vocabulary } from './vocabulary.js';

/** No pair of two neighbours is a token. */
const NO_RANK = 0x7fffffff;

/** Bytes of UTF-8 for a UTF-16 unit, at most. */
const BYTES_PER_UNIT = 3;

/** Bytes of a word that need no larger buffers: `cutText` leaves hardly any that are longer. */
const USUAL_WORD = 1024;

/** Texts of tokens that are kept: making them takes longer than finding them. */
const MOST_TEXTS = 10_000;

/** Words whose tokens are kept: the work of joining grows with the square of the length, and the same words come again. */
const MOST_WORDS = 10_000;

const encoder = new TextEncoder();

/**
 * Byte pair encoding: a word that is no token is cut into bytes, and the neighbours that make the token of the lowest
 * rank are joined until no two of them make one. Special tokens are plain text.
 */
export class BytePairs {
  /** The bytes of the word under way. */
  private bytes = new Uint8Array(USUAL_WORD);
  /** Where its parts start, then its end. */
  private starts = new Int32Array(USUAL_WORD + 1);
  /** The rank of each part joined to the next one. */
  private ranks = new Int32Array(USUAL_WORD + 1);

  /** The tokens of words that are no token. */
  private readonly words = new Map<string, readonly number[]>();

  /** The texts of tokens that were decoded. */
  private readonly texts = new Map<number, string | null>();

  constructor(private readonly vocabulary: Vocabulary) {}

  /** The number of tokens of a text. */
  countTokens(text: string): number {
    let tokens = 0;
    for (const word of wordsOf(text)) {
      const length = this.write(word);
      tokens += this.vocabulary.find(this.bytes, 0, length) === -1 ? this.tokensOf(word, length).length : 1;
    }
    return tokens;
  }

  /** The tokens of a text. */
  encode(text: string): number[] {
    const tokens: number[] = [];
    for (const word of wordsOf(text)) {
      const length = this.write(word);
      const token = this.vocabulary.find(this.bytes, 0, length);
      if (token === -1) tokens.push(...this.tokensOf(word, length));
      else tokens.push(token);
    }
    return tokens;
  }

  /** The texts of tokens: each that of one token, or of as many as a character spans. */
  *decodeGenerator(tokens: Iterable<number>): Generator<string> {
    // Keeps the bytes of a character that is not complete.
    let decoder: TextDecoder | undefined;
    for (const token of tokens) {
      let text = this.textOf(token);
      if (text === null) {
        decoder ??= new TextDecoder('utf-8', { ignoreBOM: true });
        text = decoder.decode(this.vocabulary.bytesOf(token), { stream: true });
      }
      if (text !== '') yield text;
    }
  }

  /** The text of a token; null when it has bytes of a character that others complete. */
  private textOf(token: number): string | null {
    const known = this.texts.get(token);
    if (known !== undefined) return known;
    const bytes = this.vocabulary.bytesOf(token);
    const text = isUtf8(bytes) ? Buffer.from(bytes).toString() : null;
    if (this.texts.size === MOST_TEXTS) this.texts.clear();
    this.texts.set(token, text);
    return text;
  }

  /** Writes the bytes of a word. Returns their number. */
  private write(word: string): number {
    const size = word.length * BYTES_PER_UNIT;
    if (size > this.bytes.length) {
      this.bytes = new Uint8Array(size);
      this.starts = new Int32Array(size + 1);
      this.ranks = new Int32Array(size + 1);
    }
    for (let index = 0; index < word.length; index++) {
      const code = word.charCodeAt(index);
      if (code > 0x7f) return encoder.encodeInto(word, this.bytes).written;
      this.bytes[index] = code;
    }
    return word.length;
  }

  /** The tokens of the word that was written. */
  private tokensOf(word: string, length: number): readonly number[] {
    const known = this.words.get(word);
    if (known !== undefined) return known;
    const tokens: number[] = [];
    const parts = this.join(length);
    for (let part = 0; part < parts; part++) {
      tokens.push(this.vocabulary.find(this.bytes, this.startOf(part), this.startOf(part + 1)));
    }
    if (this.words.size === MOST_WORDS) this.words.clear();
    this.words.set(copyOf(word), tokens);
    return tokens;
  }

  /** Joins the bytes of the word to tokens. Returns their number. */
  private join(length: number): number {
    const { starts, ranks } = this;
    let parts = length;
    for (let part = 0; part <= parts; part++) starts[part] = part;
    for (let part = 0; part < parts; part++) ranks[part] = this.rankOf(part, parts);
    for (;;) {
      let lowest = NO_RANK;
      let first = -1;
      for (let part = 0; part < parts - 1; part++) {
        const rank = ranks[part] ?? NO_RANK;
        if (rank >= lowest) continue;
        lowest = rank;
        first = part;
      }
      if (first === -1) return parts;
      starts.copyWithin(first + 1, first + 2, parts + 1);
      ranks.copyWithin(first + 1, first + 2, parts);
      parts--;
      ranks[first] = this.rankOf(first, parts);
      if (first > 0) ranks[first - 1] = this.rankOf(first - 1, parts);
    }
  }

  private rankOf(part: number, parts: number): number {
    if (part + 2 > parts) return NO_RANK;
    const rank = this.vocabulary.find(this.bytes, this.startOf(part), this.startOf(part + 2));
    return rank === -1 ? NO_RANK : rank;
  }

  private startOf(part: number): number {
    return this.starts[part] ?? 0;
  }
}

/** A word that does not retain the text that it was cut from. */
function copyOf(word: string): string {
  return Buffer.from(word, 'utf16le').toString('utf16le');
}

function wordsOf(text: string): readonly string[] {
  return text.match(O200K_TOKEN_SPLIT_REGEX) ?? [];
}
