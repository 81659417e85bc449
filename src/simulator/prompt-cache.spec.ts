import { describe, expect, it } from '@jest/globals';

import { simulatedTurn } from '../../test/support/simulated-turn.js';
import { PromptCache } from './prompt-cache.js';

const { signal } = new AbortController();

/** A prompt of 2,000 tokens and a few. */
function prompt(name: string) {
  return simulatedTurn({}, [
    { type: 'message', id: 'msg_1', role: 'user', content: `${name} ${'word '.repeat(2000)}` },
  ]);
}

describe(PromptCache.name, () => {
  it('the prompt cache forgets the oldest prompts beyond its number of marks', async () => {
    const cache = new PromptCache(18);
    const take = (name: string) => cache.take(prompt(name), 2000, signal);
    await expect(take('one')).resolves.toBe(0);
    await expect(take('one')).resolves.toBe(1920);
    await take('two');
    await take('three');
    await expect(take('one')).resolves.toBe(0);
  });
});
