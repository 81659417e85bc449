import type { Logprob } from '../../../protocol/index.js';
import type { SeededRandom } from '../seeded-random.js';
import { shuffleWords } from './prose.js';

/** The likeliest token is seldom less likely than this, as a natural logarithm. */
const LOWEST_FIRST = -1.5;
const LOWEST_STEP = -2;

/** A made-up log probability of a piece of text, and of as many alternatives as asked for, the likeliest first. */
export function makeLogprob(token: string, alternatives: number, random: SeededRandom): Logprob {
  const first = { token, bytes: [...Buffer.from(token)], logprob: LOWEST_FIRST * random.pickFraction() };
  if (alternatives === 0) return { ...first, top_logprobs: [] };
  let { logprob } = first;
  const others = shuffleWords(random)
    .map((word) => ` ${word}`)
    .filter((word) => word !== token)
    .slice(0, alternatives - 1)
    .map((word) => {
      logprob += LOWEST_STEP * random.pickFraction();
      return { token: word, bytes: [...Buffer.from(word)], logprob };
    });
  return { ...first, top_logprobs: [first, ...others] };
}
