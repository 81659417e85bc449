import { describe, expect, it } from '@jest/globals';

import { asTenant } from '../../access/index.js';
import { IndexFullError } from '../errors.js';
import type { VectorChunk } from '../vector-index.js';
import { MemoryVectorIndex } from './vectors.js';

const TENANT = asTenant('tests');
const WORDS = 1000;

/** A chunk of words that no other one has. */
function chunkOf(position: number, prefix: string): VectorChunk {
  const text = Array.from({ length: WORDS }, (_, index) => `${prefix}${position}x${index}`).join(' ');
  return { position, text, vector: new Float32Array(1) };
}

describe('the vectors in memory', () => {
  it('count the words of their chunks, each once, and take others in their place when they are gone', async () => {
    // Room for the texts and counts of ten chunks, but not for so many words.
    const one = chunkOf(0, 'a');
    const index = new MemoryVectorIndex(10 * (one.text.length * 2 + WORDS * 8));
    const fill = async (prefix: string): Promise<number> => {
      for (let position = 0; ; position++) {
        try {
          await index.append(TENANT, 's', 'f', [chunkOf(position, prefix)]);
        } catch (error) {
          expect(error).toBeInstanceOf(IndexFullError);
          return position;
        }
      }
    };
    const first = await fill('a');
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(5);
    index.remove(TENANT, 's', 'f');
    expect(await fill('b')).toBe(first);
    // The same words again take no more room than their counts.
    const [, ...again] = Array.from({ length: 3 }, (_, position) => ({ ...one, position }));
    index.remove(TENANT, 's', 'f');
    await index.append(TENANT, 's', 'f', [one]);
    for (const chunk of again) await index.append(TENANT, 's', 'f', [chunk]);
  });
});
