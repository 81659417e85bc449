import type { Logprob } from '../../protocol/index.js';
import type { SeededRandom } from '../seeded-random.js';
import { shuffleWords } from './words.js';

/** Minimum probability of the chosen token. */
const LEAST_CHOSEN = 0.3;

/** Synthetic log probabilities of a token and its alternatives, the likeliest first. */
export function makeLogprob(token: string, alternatives: number, random: SeededRandom): Logprob {
  const probability = LEAST_CHOSEN + (1 - LEAST_CHOSEN) * random.pickFraction();
  const chosen = describe(token, probability);
  if (alternatives === 0) return { ...chosen, top_logprobs: [] };
  const words = shuffleWords(random)
    .map((word) => ` ${word}`)
    .filter((word) => word !== token);
  const top = [chosen];
  let most = probability;
  let left = 1 - probability;
  for (const word of words.slice(0, alternatives - 1)) {
    // A share of the remaining probability, no greater than that of earlier tokens.
    most = Math.min(most, left * (0.3 + 0.4 * random.pickFraction()));
    left -= most;
    top.push(describe(word, most));
  }
  return { ...chosen, top_logprobs: top };
}

function describe(token: string, probability: number): Omit<Logprob, 'top_logprobs'> {
  return { token, bytes: [...Buffer.from(token)], logprob: Math.log(probability) };
}
