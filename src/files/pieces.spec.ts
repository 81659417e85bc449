import { describe, expect, it } from '@jest/globals';

import { inPieces } from './pieces.js';

const MEGABYTE = 1024 * 1024;

/** What pieces of 4 MiB are told to hold of chunks, and their lengths. */
async function take(...chunks: readonly number[]): Promise<{ held: number[]; lengths: number[] }> {
  const held: number[] = [];
  const lengths: number[] = [];
  async function* content(): AsyncGenerator<Uint8Array> {
    for (const length of chunks) yield new Uint8Array(length);
  }
  for await (const piece of inPieces(content(), 4 * MEGABYTE, (bytes) => held.push(bytes))) lengths.push(piece.length);
  return { held, lengths };
}

describe('inPieces', () => {
  it('a content that has sent little takes little memory', async () => {
    expect(await take(100, 200)).toEqual({ held: [65_536], lengths: [300] });
  });

  it('a piece that grows says what it takes before it does, and no more than its length', async () => {
    const { held, lengths } = await take(MEGABYTE, 2 * MEGABYTE, 2 * MEGABYTE);
    expect(held).toEqual([2 * MEGABYTE, 4 * MEGABYTE, 2 * MEGABYTE]);
    expect(lengths).toEqual([4 * MEGABYTE, MEGABYTE]);
  });
});
