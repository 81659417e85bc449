import { cutText, tokenizer } from '../../providers/tokens/index.js';

/** A piece of text as a model streams it: one token, or as many as its last character needs. */
export interface TokenPiece {
  readonly text: string;
  readonly tokens: number;
}

const PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

/** What belongs to the character before it: marks, joiners, variation selectors, skin tones. */
const CONTINUES = /^[\p{M}\u200d\ufe0e\ufe0f\u{1f3fb}-\u{1f3ff}]/u;

/** What holds together longer than this is no character of any script. */
const LONGEST_PIECE = 64;

/**
 * A text as the tokens a model would write it in; none of them ends within a character. Beyond `limit` tokens it may stop:
 * there are more, and that is all one can tell.
 */
export function splitIntoTokens(text: string, limit = Infinity): readonly TokenPiece[] {
  const pieces: TokenPiece[] = [];
  let tokens = 0;
  for (const chunk of cutText(text)) {
    if (tokens > limit) break;
    for (const piece of decodePieces(tokenizer().encode(chunk, PLAIN_TEXT))) {
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

/** The pieces from the beginning that fit into `limit` tokens. */
export function takeTokens(pieces: readonly TokenPiece[], limit: number): readonly TokenPiece[] {
  let spent = 0;
  const end = pieces.findIndex(({ tokens }) => (spent += tokens) > limit);
  return end === -1 ? pieces : pieces.slice(0, end);
}

/** How many tokens the pieces are together. */
export function sumTokens(pieces: readonly TokenPiece[]): number {
  return pieces.reduce((sum, { tokens }) => sum + tokens, 0);
}

/**
 * The tokenizer decodes with one decoder for the whole process: it must be run to the end of a whole text, at once, or
 * half a character of this text would turn up in somebody else's.
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
