import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { countTokens } from '../../providers/index.js';
import { chunkText } from './chunk-text.js';

const SENTENCE = 'Bees dance in the hive to show where the flowers are. ';

/** What a chunk has beyond the one before. */
const newText = (before: string, chunk: string): string => {
  for (let from = 0; from < before.length; from += 1) {
    if (chunk.startsWith(before.slice(from))) return chunk.slice(before.length - from);
  }
  return chunk;
};

describe('chunkText', () => {
  it('chunkText cuts at sentences into chunks of at most so many tokens, which repeat the end of the one before', async () => {
    const text = Array.from({ length: 40 }, (_, index) => `Part ${index} says: ${SENTENCE}`).join('');
    const chunks = await chunkText(text, { size: 100, overlap: 40 });
    expect(chunks.length).toBeGreaterThan(5);
    for (const [index, chunk] of chunks.entries()) {
      expect(countTokens(chunk)).toBeLessThanOrEqual(102);
      expect(chunk.endsWith('are.')).toBe(true);
      if (index > 0) expect(chunk.length - newText(chunks[index - 1] ?? '', chunk).length).toBeGreaterThan(50);
    }
  });

  it('chunkText loses no word of any text, and repeats none without an overlap', async () => {
    const words = fc.array(fc.oneof(fc.stringMatching(/^[a-z]{1,12}[.\n]?$/), fc.constant('日本語。')), {
      maxLength: 300,
    });
    await fc.assert(
      fc.asyncProperty(words, async (all) => {
        const chunks = await chunkText(all.join(' '), { size: 100, overlap: 0 });
        expect(chunks.join(' ').split(/\s+/).filter(Boolean)).toEqual(all.join(' ').split(/\s+/).filter(Boolean));
      }),
      { numRuns: 30 },
    );
  });

  it('chunkText cuts what has no space, but no character in two', async () => {
    const chunks = await chunkText('😀'.repeat(3000), { size: 500, overlap: 0 });
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.every((chunk) => chunk.isWellFormed())).toBe(true);
    expect(chunks.join('')).toBe('😀'.repeat(3000));
  });

  it('chunkText makes no chunk with more tokens than it may have, whatever the script', async () => {
    const texts = ['蜜蜂在蜂巢里跳舞，告诉同伴花在哪里', 'ᚠᛇᚻ᛫ᛒᛦᚦ᛫ᚠᚱᚩᚠᚢᚱ', '👩‍👩‍👧‍👦🏴󠁧󠁢󠁳󠁣󠁴󠁿', 'Zażółć gęślą jaźń', '𒀀𒀁𒀂'];
    for (const text of texts) {
      const chunks = await chunkText(text.repeat(200), { size: 100, overlap: 50 });
      expect(Math.max(...chunks.map(countTokens))).toBeLessThanOrEqual(100);
      expect(chunks.every((chunk) => chunk.isWellFormed())).toBe(true);
    }
  });

  it('chunkText makes no chunk of white space', async () => {
    expect(await chunkText(' \n\n ', { size: 100, overlap: 0 })).toEqual([]);
  });
});
