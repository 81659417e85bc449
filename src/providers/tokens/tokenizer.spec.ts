import { describe, expect, it } from '@jest/globals';

import { countItemTokens } from './token-counter.js';

// In a file of its own, because a process loads the tokenizer once.
describe('the tokenizer', () => {
  it('is loaded in many small steps, once for all who wait for it', async () => {
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
    // Two hundred thousand tokens, four thousand at a time.
    expect(steps).toBeGreaterThan(45);
  });
});
