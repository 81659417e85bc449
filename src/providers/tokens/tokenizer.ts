import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { Logger } from '@nestjs/common';

import { describeMissing, isInstalled } from '../../require-packages.js';
import { BytePairs } from './byte-pairs.js';
import { EstimatedTokens } from './estimated-tokens.js';
import { Vocabulary } from './vocabulary.js';

/** The package with the vocabulary. */
const PACKAGE = 'gpt-tokenizer';

/** Cuts text into tokens, and joins them. */
export type Tokenizer = Pick<BytePairs, 'countTokens' | 'encode' | 'decodeGenerator'>;

/** Bytes that are read from it at a time. */
const PIECE_BYTES = 65_536;

let loaded: Tokenizer | null = null;
let loading: Promise<void> | null = null;

/**
 * The tokenizer of o200k_base. It is not needed if providers report usage: it is loaded on first use, at once unless
 * `loadTokenizer` was awaited. Where the vocabulary is not installed, tokens are estimated.
 */
export function tokenizer(): Tokenizer {
  if (loaded === null && !isInstalled(PACKAGE)) loaded = estimate();
  if (loaded === null) {
    const lines = readFileSync(vocabularyFile());
    const reader = Vocabulary.reader(lines.length);
    reader.add(lines);
    loaded = new BytePairs(reader.end());
  }
  return loaded;
}

/** Loads the tokenizer while the event loop goes on; undefined when it is there. */
export function loadTokenizer(): Promise<void> | undefined {
  if (loaded !== null) return undefined;
  if (!isInstalled(PACKAGE)) {
    loaded = estimate();
    return undefined;
  }
  loading ??= loadInPieces().finally(() => (loading = null));
  return loading;
}

/** The file is larger than what is kept of it: it goes through one buffer, in pieces of about a ms of work. */
async function loadInPieces(): Promise<void> {
  const file = await open(vocabularyFile());
  try {
    const reader = Vocabulary.reader((await file.stat()).size);
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let rest = 0;
    while (loaded === null) {
      const { bytesRead } = await file.read(piece, rest);
      const end = rest + bytesRead;
      const used = reader.add(piece.subarray(0, end));
      piece.copyWithin(0, used, end);
      rest = end - used;
      if (bytesRead === 0) loaded = new BytePairs(reader.end());
    }
  } finally {
    await file.close();
  }
}

/** The tokens of o200k_base, one a line. */
function vocabularyFile(): string {
  return createRequire(import.meta.url).resolve(`${PACKAGE}/data/o200k_base.tiktoken`);
}

function estimate(): Tokenizer {
  new Logger('Tokens').warn(`tokens are estimated; to count them takes ${describeMissing([PACKAGE])}`);
  return new EstimatedTokens();
}
