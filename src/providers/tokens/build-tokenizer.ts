import { isUtf8 } from 'node:buffer';

import type { GptEncoding } from 'gpt-tokenizer/GptEncoding';

/** Size of the tokenizer's cache, in words. Cached words are slices, which retain the text they were cut from. */
const MERGE_CACHE_SIZE = 10_000;

/** Tokens between two steps: a few ms of work. */
const TOKENS_PER_STEP = 4000;

/** A token as the library takes it: its text, or its bytes where these are no text of their own. */
type Token = string | readonly number[];

/** Members of the library beyond its declared types: where it looks up the rank of a text. */
interface Internals {
  readonly bytePairEncodingCoreProcessor: { readonly bytePairStringRankEncoder: Map<string, number> };
}

/**
 * Builds the tokenizer of o200k_base from its vocabulary in steps, between which other work may run. The library itself
 * does it in one: half a second on a busy machine.
 */
export function* buildTokenizer(
  library: Pick<typeof GptEncoding, 'getEncodingApi'>,
  vocabulary: Buffer,
): Generator<undefined, GptEncoding> {
  const tokens = yield* readTokens(vocabulary.toString('latin1'));
  // Only the few tokens that are not texts; the others are added to what the library has made of them.
  const table = new Array<Token>(tokens.length);
  tokens.forEach((token, rank) => {
    if (typeof token !== 'string') table[rank] = token;
  });
  yield;
  const encoding = library.getEncodingApi('o200k_base', () => table);
  const { bytePairStringRankEncoder: ranks } = (encoding as unknown as Internals).bytePairEncodingCoreProcessor;
  for (const [rank, token] of tokens.entries()) {
    if (typeof token !== 'string') continue;
    table[rank] = token;
    ranks.set(token, rank);
    if (rank % TOKENS_PER_STEP === 0) yield;
  }
  encoding.setMergeCacheSize(MERGE_CACHE_SIZE);
  return encoding;
}

/** The tokens by rank. A line has the bytes of a token in base64 and its rank. */
function* readTokens(vocabulary: string): Generator<undefined, readonly Token[]> {
  const tokens: Token[] = [];
  for (let start = 0; start < vocabulary.length;) {
    const space = vocabulary.indexOf(' ', start);
    const end = vocabulary.indexOf('\n', space);
    tokens.push(toToken(Buffer.from(vocabulary.slice(start, space), 'base64')));
    start = end === -1 ? vocabulary.length : end + 1;
    if (tokens.length % TOKENS_PER_STEP === 0) yield;
  }
  return tokens;
}

function toToken(bytes: Buffer): Token {
  const text = isUtf8(bytes) ? bytes.toString('utf8') : '';
  // The library reads bytes without a byte order mark.
  return text === '' || text.startsWith('\ufeff') ? [...bytes] : text;
}
