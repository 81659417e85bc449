import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { BytePairs } from './byte-pairs.js';
import { Vocabulary } from './vocabulary.js';

/** The tokens of o200k_base, one a line. */
const VOCABULARY = createRequire(import.meta.url).resolve('gpt-tokenizer/data/o200k_base.tiktoken');

/** Bytes that are read from it at a time. */
const PIECE_BYTES = 65_536;

let loaded: BytePairs | null = null;
let loading: Promise<void> | null = null;

/**
 * The tokenizer of o200k_base. It is not needed if providers report usage: it is loaded on first use, at once unless
 * `loadTokenizer` was awaited.
 */
export function tokenizer(): BytePairs {
  if (loaded === null) {
    const lines = readFileSync(VOCABULARY);
    const reader = Vocabulary.reader(lines.length);
    reader.add(lines);
    loaded = new BytePairs(reader.end());
  }
  return loaded;
}

/** Loads the tokenizer while the event loop goes on; undefined when it is there. */
export function loadTokenizer(): Promise<void> | undefined {
  if (loaded !== null) return undefined;
  loading ??= loadInPieces().finally(() => (loading = null));
  return loading;
}

/** The file is larger than what is kept of it: it goes through one buffer, in pieces of about a ms of work. */
async function loadInPieces(): Promise<void> {
  const file = await open(VOCABULARY);
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
