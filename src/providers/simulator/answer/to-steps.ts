import type { ModelEvent } from '../../model-event.js';
import type { Turn } from '../../turn.js';
import type { Step } from '../step.js';
import type { CallableTool } from './callable-tools.js';
import { makeLogprob } from './logprobs.js';
import type { Answer, RandomFor } from './plan-answer.js';
import type { Reasoning } from './plan-reasoning.js';
import { splitIntoTokens, sumTokens, type TokenPiece } from './token-pieces.js';

/** An answer as the steps of the model: the reasoning first, then the text or the calls. */
export function* toSteps({ reasoning, parts, cut }: Answer, turn: Turn, randomFor: RandomFor): Generator<Step> {
  if (reasoning !== undefined) yield* toReasoningSteps(reasoning, turn);
  for (const { tool, pieces } of parts) {
    if (tool === undefined) yield* toTextSteps(pieces, turn, randomFor);
    else yield* toCallSteps(tool, pieces);
  }
  yield { type: 'finish', reason: cut ? 'length' : 'stop' };
}

/** A text, with log probabilities where the client wants them. */
export function* toTextSteps(pieces: Iterable<TokenPiece>, turn: Turn, randomFor: RandomFor): Generator<Step> {
  if (!turn.include.includes('message.output_text.logprobs')) {
    for (const { text: delta } of pieces) yield { type: 'text', delta };
    return;
  }
  const random = randomFor('logprobs');
  const alternatives = turn.settings.top_logprobs ?? 0;
  for (const { text: delta } of pieces) {
    yield { type: 'text', delta, logprobs: [makeLogprob(delta, alternatives, random)] };
  }
}

/** A summary as it is written. */
export function* toSummarySteps(pieces: Iterable<TokenPiece>): Generator<ModelEvent> {
  for (const { text: delta } of pieces) yield { type: 'reasoning_summary', delta, part: 0 };
}

function* toReasoningSteps({ tokens, summary, encrypted }: Reasoning, { include }: Turn): Generator<Step> {
  const pieces = splitIntoTokens(summary);
  yield { type: 'reasoning_open' };
  yield* toSummarySteps(pieces);
  yield { type: 'think', tokens: Math.max(0, tokens - sumTokens(pieces)) };
  if (include.includes('reasoning.encrypted_content')) yield { type: 'reasoning_encrypted', content: encrypted };
}

function* toCallSteps({ type, name, namespace }: CallableTool, pieces: Iterable<TokenPiece>): Generator<Step> {
  const place = namespace === undefined ? {} : { namespace };
  yield { type: type === 'function' ? 'function_call' : 'custom_tool_call', name, ...place };
  const input = type === 'function' ? 'function_call_arguments' : 'custom_tool_call_input';
  for (const { text: delta } of pieces) yield { type: input, delta };
}
