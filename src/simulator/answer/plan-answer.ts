import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

import type { ModelSink, Turn } from '../../providers/index.js';
import { digestTranscript } from '../../providers/transcripts/index.js';
import type { SeededRandom } from '../seeded-random.js';
import type { CallableTool } from './callable-tools.js';
import { chooseTools, type Eagerness } from './choose-tools.js';
import { planReasoning, type Reasoning } from './plan-reasoning.js';
import { splitIntoTokens, sumTokens, takeTokens, type TokenPiece } from './token-pieces.js';
import { writeInput } from './write-input.js';
import { type Wording, writeText } from './write-text.js';

/** All that the model will say in a turn. */
export interface Answer {
  readonly reasoning: Reasoning | undefined;
  /** The text, or the calls, as far as `max_output_tokens` lets them go. */
  readonly parts: readonly AnswerPart[];
  /** Whether `max_output_tokens` cut the answer. */
  readonly cut: boolean;
}

/** A text, or the input of a call. */
export interface AnswerPart {
  /** The tool that is called; undefined for text. */
  readonly tool: CallableTool | undefined;
  readonly pieces: readonly TokenPiece[];
}

/** Gives the random numbers for one use in a turn: the same turn and seed, the same numbers. */
export type RandomFor = (use: string) => SeededRandom;

/** A fingerprint of what a turn asks for: ids do not count, nor how long the answer may be or how it is sent. */
export function identify({ settings, context }: Turn, seed: number): string {
  const { model, instructions, tools, tool_choice: choice, text } = settings;
  const parts = [seed, model, instructions, tools, choice, text, digestTranscript(context)];
  return hash('sha256', JSON.stringify(parts));
}

/** What decides about an answer beside the turn itself. */
export interface AnswerOptions {
  readonly wording: Wording;
  readonly eagerness: Eagerness;
  /** Most tokens, reasoning included. */
  readonly limit: number;
  /** Closed when nobody wants the answer any more: then what there is of it is given. */
  readonly sink: Pick<ModelSink, 'isClosed'>;
}

/** Decides what to answer. Throws a ModelError where the request cannot be answered at all. */
export async function planAnswer(turn: Turn, options: AnswerOptions, randomFor: RandomFor): Promise<Answer> {
  const { limit } = options;
  const parts = await writeParts(turn, options, randomFor);
  const whole = sumParts(parts);
  const reasoning = planReasoning(turn.settings, whole, limit, randomFor('reasoning'));
  const left = limit - (reasoning?.tokens ?? 0);
  return { reasoning, parts: left < whole ? cutParts(parts, left) : parts, cut: left < whole };
}

/** Tokens of all parts. */
export function sumParts(parts: readonly AnswerPart[]): number {
  return parts.reduce((sum, { pieces }) => sum + sumTokens(pieces), 0);
}

async function writeParts(
  turn: Turn,
  { wording, eagerness, sink }: AnswerOptions,
  randomFor: RandomFor,
): Promise<readonly AnswerPart[]> {
  const tools = chooseTools(turn, eagerness, randomFor('tool'));
  if (tools.length === 0) {
    return [{ tool: undefined, pieces: splitIntoTokens(await writeText(turn, wording, randomFor('text'))) }];
  }
  const random = randomFor('call');
  const parts: AnswerPart[] = [];
  for (const tool of tools) {
    parts.push({ tool, pieces: splitIntoTokens(await writeInput(tool, random)) });
    // Each may take a while, and other turns want theirs.
    if (parts.length < tools.length) await setImmediate();
    if (sink.isClosed) break;
  }
  return parts;
}

/** What fits into `limit` tokens; a part of which nothing fits is left out. */
function cutParts(parts: readonly AnswerPart[], limit: number): readonly AnswerPart[] {
  let left = limit;
  const kept: AnswerPart[] = [];
  for (const { tool, pieces } of parts) {
    const fitting = takeTokens(pieces, left);
    if (fitting.length > 0) kept.push({ tool, pieces: fitting });
    if (fitting.length < pieces.length) break;
    left -= sumTokens(fitting);
  }
  return kept;
}
