import { cutText, tokenizer } from '../../providers/tokens/index.js';
import { BoundedCache } from '../bounded-cache.js';

/** A delta of text: one token, or several if a character spans them. */
export interface TokenPiece {
  readonly text: string;
  readonly tokens: number;
}

/** Code points that combine with the previous character: marks, joiners, variation selectors, skin tones. */
const CONTINUES = /^[\p{M}\u200d\ufe0e\ufe0f\u{1f3fb}-\u{1f3ff}]/u;

/** Maximum length of a combined piece; no character of any script is longer. */
const LONGEST_PIECE = 64;

/** Longer texts are rarely written twice. */
const LONGEST_KEPT = 4096;

const kept = new BoundedCache<readonly TokenPiece[]>(512 * 1024);

/**
 * Splits a text into deltas of one token, none of which ends within a character. May stop beyond `limit` tokens: the result then
 * exceeds `limit` but is incomplete. The pieces of recent texts are remembered.
 */
export function splitIntoTokens(text: string, limit = Infinity): readonly TokenPiece[] {
  if (text.length > LONGEST_KEPT) return split(text, limit);
  const known = kept.get(text);
  if (known !== undefined) return known;
  const pieces = split(text, Infinity);
  kept.add(text, pieces, text.length);
  return pieces;
}

function split(text: string, limit: number): readonly TokenPiece[] {
  const pieces: TokenPiece[] = [];
  let tokens = 0;
  for (const chunk of cutText(text)) {
    if (tokens > limit) break;
    for (const piece of decodePieces(tokenizer().encode(chunk))) {
      tokens += piece.tokens;
      const last = pieces.at(-1);
      const continues = CONTINUES.test(piece.text) || last?.text.endsWith('\u200d') === true;
      if (last !== undefined && continues && last.text.length < LONGEST_PIECE) {
        pieces[pieces.length - 1] = { text: last.text + piece.text, tokens: last.tokens + piece.tokens };
      } else {
        pieces.push(piece);
      }
    }
  }
  return pieces;
}

/** The leading pieces with up to `limit` tokens. */
export function takeTokens(pieces: readonly TokenPiece[], limit: number): readonly TokenPiece[] {
  let spent = 0;
  const end = pieces.findIndex(({ tokens }) => (spent += tokens) > limit);
  return end === -1 ? pieces : pieces.slice(0, end);
}

/** The total number of tokens. */
export function sumTokens(pieces: readonly TokenPiece[]): number {
  return pieces.reduce((sum, { tokens }) => sum + tokens, 0);
}

/**
 * Decodes tokens synchronously to the end: the tokenizer shares one decoder across the process, and an incomplete run would leave
 * part of a character in the next text.
 */
function decodePieces(tokens: readonly number[]): readonly TokenPiece[] {
  const pieces: TokenPiece[] = [];
  let read = 0;
  let taken = 0;
  function* readTokens(): Generator<number> {
    for (const token of tokens) {
      read++;
      yield token;
    }
  }
  for (const text of tokenizer().decodeGenerator(readTokens())) {
    pieces.push({ text, tokens: read - taken });
    taken = read;
  }
  return pieces;
}

/**
 * A text of a given length that is written while it is read, so that a delta of a long one takes no more work or memory than one of a
 * short one. Each reading gives the same.
 */
export class LongText implements Iterable<TokenPiece> {
  /** `write` gives sentences without end, whose pieces have one token each; the text ends after `tokens` of them. */
  constructor(
    readonly tokens: number,
    private readonly write: () => Iterable<string>,
  ) {}

  /** The beginning, of up to `tokens`. */
  take(tokens: number): LongText {
    return new LongText(Math.min(tokens, this.tokens), this.write);
  }

  *[Symbol.iterator](): Generator<TokenPiece> {
    let left = this.tokens;
    for (const sentence of this.write()) {
      for (const piece of splitIntoTokens(sentence)) {
        left -= piece.tokens;
        if (left < 0) return;
        yield piece;
      }
    }
  }
}
