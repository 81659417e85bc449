import { existsSync, readFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { Logger } from '@nestjs/common';
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';

import { describeMissing, isInstalled } from '../../require-packages.js';
import { BytePairs } from './byte-pairs.js';
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
