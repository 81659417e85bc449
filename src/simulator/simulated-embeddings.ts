import { hash } from 'node:crypto';

import {
  countTokens,
  type EmbeddingInput,
  type EmbeddingRequest,
  type Embeddings,
  ModelError,
} from '../providers/index.js';

/** Numbers of the vectors of known models, which a request may shorten; any other model has those of the first. */
const DIMENSIONS: ReadonlyMap<string, number> = new Map([
  ['text-embedding-3-small', 1536],
  ['text-embedding-3-large', 3072],
  ['text-embedding-ada-002', 1536],
]);
const DEFAULT_DIMENSIONS = 1536;

/** Most numbers of a vector. */
const MOST_DIMENSIONS = 8192;

/** Places that an n-gram adds to: several, so that two n-grams in one place do not count as the same. */
const PLACES = 4;

/** What an n-gram weighs: words that follow each other tell more of a text than the letters of one word. */
const WEIGHTS = { word: 1, pair: 0.5, letters: 0.25 };

/** Whether a name is that of an embedding model of OpenAI. */
export function isEmbeddingModel(name: string): boolean {
  return name.startsWith('text-embedding-');
}

/**
 * Vectors of texts by their words, pairs of words and parts of words: texts that share many of them are near each other, in any number of
 * dimensions, with the same result everywhere. Throws ModelError 400 for more than 8192 dimensions.
 */
export function simulateEmbeddings({ model, inputs, dimensions }: EmbeddingRequest): Embeddings {
  const size = dimensions ?? DIMENSIONS.get(model) ?? DEFAULT_DIMENSIONS;
  if (size > MOST_DIMENSIONS) {
    const message = `Invalid value for 'dimensions': the model '${model}' has at most ${MOST_DIMENSIONS}.`;
    throw new ModelError('invalid_value', message, { status: 400, param: 'dimensions' });
  }
  return {
    vectors: inputs.map((input) => embed(input, size)),
    tokens: inputs.reduce((sum, input) => sum + (typeof input === 'string' ? countTokens(input) : input.length), 0),
  };
}

function embed(input: EmbeddingInput, size: number): Float32Array {
  const words =
    typeof input === 'string'
      ? (input
          .toLowerCase()
          .normalize('NFKC')
          .match(/[\p{L}\p{N}]+/gu) ?? [input])
      : input.map(String);
  const vector = new Float32Array(size);
  for (const [index, word] of words.entries()) {
    add(vector, `w ${word}`, WEIGHTS.word);
    if (index > 0) add(vector, `p ${words[index - 1]} ${word}`, WEIGHTS.pair);
    for (let at = 0; at + 3 <= word.length; at++) add(vector, `l ${word.slice(at, at + 3)}`, WEIGHTS.letters);
  }
  const length = Math.hypot(...vector);
  // Places may cancel each other out; a vector of zeros is near nothing.
  if (length === 0) vector[0] = 1;
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** Adds an n-gram at places, and with signs, that its hash decides. */
function add(vector: Float32Array, gram: string, weight: number): void {
  const digest = hash('sha256', gram, 'buffer');
  for (let place = 0; place < PLACES; place++) {
    const bits = digest.readUInt32LE(place * 4);
    const index = (bits >>> 1) % vector.length;
    vector[index] = (vector[index] ?? 0) + ((bits & 1) === 0 ? weight : -weight);
  }
}
