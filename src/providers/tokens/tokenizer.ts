import { existsSync, readFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { Logger } from '@nestjs/common';

import { describeMissing, isInstalled } from '../../require-packages.js';
import { BytePairs } from './byte-pairs.js';
import { EstimatedTokens } from './estimated-tokens.js';
import { Vocabulary } from './vocabulary.js';

/** The package with the vocabulary. */
const PACKAGE = 'gpt-tokenizer';

/** Cuts text into tokens, and joins them. */
export type Tokenizer = Pick<BytePairs, 'countTokens' | 'encode' | 'decodeGenerator'>;

/** Where the build puts what it has read of it, beside the program. */
const PACKED = fileURLToPath(new URL('./vocabulary.bin', import.meta.url));

/** Bytes that are read from the package at a time. */
const PIECE_BYTES = 65_536;

let loaded: Tokenizer | null = null;
let loading: Promise<void> | null = null;

/**
 * The tokenizer of o200k_base. It is not needed if providers report usage: it is loaded on first use, at once unless
 * `loadTokenizer` was awaited. Where the vocabulary is not installed, tokens are estimated.
 */
export function tokenizer(): Tokenizer {
  loaded ??= load();
  return loaded;
}

/** Loads the tokenizer while the event loop goes on; undefined when it is there. */
export function loadTokenizer(): Promise<void> | undefined {
  if (loaded !== null) return undefined;
  if (!hasVocabulary()) {
    loaded = estimate();
    return undefined;
  }
  loading ??= loadMeanwhile().finally(() => (loading = null));
  return loading;
}

function hasVocabulary(): boolean {
  return existsSync(PACKED) || isInstalled(PACKAGE);
}

function load(): Tokenizer {
  if (existsSync(PACKED)) return new BytePairs(Vocabulary.unpack(readFileSync(PACKED)));
  if (!isInstalled(PACKAGE)) return estimate();
  const lines = readFileSync(vocabularyFile());
  const reader = Vocabulary.reader(lines.length);
  reader.add(lines);
  return new BytePairs(reader.end());
}

async function loadMeanwhile(): Promise<void> {
  const vocabulary = existsSync(PACKED) ? Vocabulary.unpack(await readFile(PACKED)) : await readInPieces();
  loaded ??= new BytePairs(vocabulary);
}

/** The file is larger than what is kept of it: it goes through one buffer, in pieces of about a ms of work. */
async function readInPieces(): Promise<Vocabulary> {
  const file = await open(vocabularyFile());
  try {
    const reader = Vocabulary.reader((await file.stat()).size);
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (let rest = 0; ;) {
      const { bytesRead } = await file.read(piece, rest);
      if (bytesRead === 0) return reader.end();
      const end = rest + bytesRead;
      const used = reader.add(piece.subarray(0, end));
      piece.copyWithin(0, used, end);
      rest = end - used;
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
