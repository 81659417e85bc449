import { describe, expect, it } from '@jest/globals';

import { Vocabulary } from './vocabulary.js';

const TOKENS = ['a', 'b', 'ab', 'token', '\u00e9', 'an exceptionally long token'];

describe('a vocabulary', () => {
  const bytes = (text: string): Buffer => Buffer.from(text);
  const lines = TOKENS.map((token, rank) => `${bytes(token).toString('base64')} ${rank}\n`).join('');
  const find = (vocabulary: Vocabulary, token: string): number => vocabulary.find(bytes(token), 0, bytes(token).length);

  function readLines(): Vocabulary {
    const reader = Vocabulary.reader(lines.length);
    expect(reader.add(bytes(`${lines}YW`))).toBe(lines.length);
    return reader.end();
  }

  it('a vocabulary is the same after it was packed', () => {
    const vocabulary = readLines();
    const unpacked = Vocabulary.unpack(new Uint8Array(vocabulary.pack()));
    for (const one of [vocabulary, unpacked]) {
      expect(TOKENS.map((token) => find(one, token))).toEqual(TOKENS.map((_, rank) => rank));
      expect(TOKENS.map((_, rank) => String(Buffer.from(one.bytesOf(rank))))).toEqual(TOKENS);
      expect(find(one, 'other')).toBe(-1);
    }
  });

  it('reading a vocabulary comes to an end where a file is none', () => {
    const text = bytes('no base64, no rank\nand no end');
    expect(Vocabulary.reader(text.length).add(text)).toBeLessThanOrEqual(text.length);
  });
});
