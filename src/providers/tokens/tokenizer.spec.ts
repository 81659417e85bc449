import { isDeepStrictEqual } from 'node:util';

import { describe, expect, it } from '@jest/globals';
import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base';

import { countItemTokens } from './token-counter.js';
import { tokenizer } from './tokenizer.js';

const TOKENS = 199_998;
const PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

// In a file of its own, because a process loads the tokenizer once.
describe('the tokenizer', () => {
  it('the tokenizer is loaded in many small steps, once for all who wait for it', async () => {
    let steps = 0;
    let isLoading = true;
    const watch = (): void => {
      steps += 1;
      if (isLoading) setImmediate(watch);
    };
    setImmediate(watch);
    const item = (): { type: string; id: string; role: string; content: string } => ({
      type: 'message',
      id: 'msg_1',
      role: 'user',
      content: 'Hello there.',
    });
    const counted = await Promise.all([countItemTokens([item()]), countItemTokens([item()])]);
    isLoading = false;
    expect(counted).toEqual([6, 6]);
    // 3.6 MB, 64 kB at a time.
    expect(steps).toBeGreaterThan(45);
  });

  it('the tokenizer has all tokens, also those of which a piece of the file has only the beginning', async () => {
    await countItemTokens([]);
    const others: number[] = [];
    for (let token = 0; token < TOKENS; token++) {
      // The library skips byte order marks.
      const text = decode([token]).replaceAll('\ufeff', '');
      if (!isDeepStrictEqual(tokenizer().encode(text), encode(text, PLAIN_TEXT))) others.push(token);
    }
    expect(others).toEqual([]);
  });
});
