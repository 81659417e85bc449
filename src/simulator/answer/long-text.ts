import { splitIntoTokens, type TokenPiece } from './token-pieces.js';

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
