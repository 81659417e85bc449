import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';

/** Bytes of UTF-8 in a token, at most: English prose has as many tokens as with o200k_base, give or take a fifth. */
const MOST_BYTES = 6;

/** In front of the bytes of a token in its number, so that zeros at their start count. */
const START = 1;

const encoder = new TextEncoder();

/**
 * Tokens without a vocabulary: words as o200k_base splits them, in pieces of a few bytes, but of whole characters. The number of a token has
 * its bytes, so that nothing has to be kept.
 */
export class EstimatedTokens {
  /** The number of tokens of a text. */
  countTokens(text: string): number {
    return piecesOf(text).length;
  }

  /** The tokens of a text. */
  encode(text: string): number[] {
    return piecesOf(text).map((piece) => encoder.encode(piece).reduce((token, byte) => token * 256 + byte, START));
  }

  /** The texts of tokens. */
  *decodeGenerator(tokens: Iterable<number>): Generator<string> {
    for (const token of tokens) {
      const bytes: number[] = [];
      for (let rest = token; rest > START; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
      yield Buffer.from(bytes).toString();
    }
  }
}

function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  for (const word of text.match(O200K_TOKEN_SPLIT_REGEX) ?? []) {
    let [piece, bytes] = ['', 0];
    for (const character of word) {
      const more = Buffer.byteLength(character);
      if (bytes + more > MOST_BYTES) {
        pieces.push(piece);
        [piece, bytes] = ['', 0];
      }
      piece += character;
      bytes += more;
    }
    pieces.push(piece);
  }
  return pieces;
}
