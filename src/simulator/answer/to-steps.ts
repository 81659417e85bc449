import type { Logprob } from '../../protocol/index.js';
import type { Turn } from '../../providers/index.js';
import type { SeededRandom } from '../seeded-random.js';
import type { Step } from '../step.js';
import type { PlannedAnswer, PlannedTool, RandomFor } from './plan-answer.js';
import type { PlannedReasoning } from './plan-reasoning.js';
import { sumTokens, type TokenPiece } from './token-pieces.js';
import { shuffleWords } from './words.js';

/** Minimum probability of the chosen token. */
const LEAST_CHOSEN = 0.3;

/** The steps of remembered texts: most turns write one that was written before. */
const written = new WeakMap<readonly TokenPiece[], readonly Step[]>();

/** Converts an answer into steps: the reasoning first, then the text or the calls. */
export function* toSteps({ reasoning, parts, cut }: PlannedAnswer, turn: Turn, randomFor: RandomFor): Generator<Step> {
  if (reasoning !== undefined) yield* toReasoningSteps(reasoning);
  for (const { tool, pieces } of parts) {
    yield* tool === undefined ? toTextSteps(pieces, turn, randomFor) : toCallSteps(tool, pieces);
  }
  yield { type: 'finish', reason: cut ? 'length' : 'stop' };
}

/** Steps of a text, with log probabilities if requested. */
export function toTextSteps(pieces: Iterable<TokenPiece>, turn: Turn, randomFor: RandomFor): Iterable<Step> {
  if (turn.include.includes('message.output_text.logprobs')) return withLogprobs(pieces, turn, randomFor);
  if (!isList(pieces)) return toDeltas(pieces, 'text');
  let steps = written.get(pieces);
  if (steps === undefined) written.set(pieces, (steps = [...toDeltas(pieces, 'text')]));
  return steps;
}

function isList(pieces: Iterable<TokenPiece>): pieces is readonly TokenPiece[] {
  return Array.isArray(pieces);
}

function* toDeltas(
  pieces: Iterable<TokenPiece>,
  type: 'text' | 'function_call_arguments' | 'custom_tool_call_input',
): Generator<Step> {
  for (const { text: delta } of pieces) yield { type, delta };
}

function* withLogprobs(pieces: Iterable<TokenPiece>, turn: Turn, randomFor: RandomFor): Generator<Step> {
  const random = randomFor('logprobs');
  const alternatives = turn.settings.top_logprobs ?? 0;
  for (const { text: delta } of pieces) {
    yield { type: 'text', delta, logprobs: [makeLogprob(delta, alternatives, random)] };
  }
}

/** Steps of reasoning: the deltas of the summary, then one `think` step for the remaining tokens. */
export function* toReasoningSteps({ tokens, summary, encrypted }: PlannedReasoning): Generator<Step> {
  yield { type: 'reasoning_open' };
  for (const { text: delta } of summary) yield { type: 'reasoning_summary', delta, part: 0 };
  yield { type: 'think', tokens: Math.max(0, tokens - sumTokens(summary)) };
  yield { type: 'reasoning_encrypted', content: encrypted };
}

function* toCallSteps({ type, name, namespace }: PlannedTool, pieces: Iterable<TokenPiece>): Generator<Step> {
  const place = namespace === undefined ? {} : { namespace };
  yield { type: type === 'function' ? 'function_call' : 'custom_tool_call', name, ...place };
  yield* toDeltas(pieces, type === 'function' ? 'function_call_arguments' : 'custom_tool_call_input');
}

/** Synthetic log probabilities of a token and its alternatives, the likeliest first. */
function makeLogprob(token: string, alternatives: number, random: SeededRandom): Logprob {
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
