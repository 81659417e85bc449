import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

import type { ModelSink, Turn } from '../../providers/index.js';
import { digestTranscript } from '../../providers/transcripts/index.js';
import { drawLength } from '../length.js';
import { isSchemaObject } from '../schema/schema-parts.js';
import type { SeededRandom } from '../seeded-random.js';
import { type CallableTool, chooseTools, type Eagerness } from './choose-tools.js';
import { planReasoning, type PlannedReasoning, reasoningRatioOf } from './plan-reasoning.js';
import { writeProse } from './prose.js';
import { LongText, splitIntoTokens, sumTokens, takeTokens, type TokenPiece } from './token-pieces.js';
import { makeData, type Wording, writeAtLength, writeText } from './write-text.js';

/** The whole answer of a turn. */
export interface PlannedAnswer {
  readonly reasoning: PlannedReasoning | undefined;
  /** The text or the calls, within `max_output_tokens`. */
  readonly parts: readonly AnswerPart[];
  /** Whether `max_output_tokens` cut the answer. */
  readonly cut: boolean;
}

/** What a call names. */
export type PlannedTool = Pick<CallableTool, 'type' | 'name' | 'namespace'>;

/** A text, or the input of a call. */
export interface AnswerPart {
  /** The tool to call; undefined for text. */
  readonly tool: PlannedTool | undefined;
  readonly pieces: readonly TokenPiece[] | LongText;
}

/** Creates the random generator for one use in a turn, determined by turn and seed. */
export type RandomFor = (use: string) => SeededRandom;

/** A digest that identifies a request. Ids, output limits and transport options are excluded. */
export function identify({ settings, context }: Turn, seed: number): string {
  const { model, instructions, tools, tool_choice: choice, text } = settings;
  const parts = [seed, model, instructions, tools, choice, text, digestTranscript(context)];
  return hash('sha256', JSON.stringify(parts));
}

/** Parameters of an answer besides the turn. */
export interface AnswerPlanOptions {
  readonly wording: Wording;
  readonly eagerness: Eagerness;
  /** Maximum tokens, including reasoning. */
  readonly limit: number;
  /** When it closes, planning stops early with an incomplete answer. */
  readonly sink: Pick<ModelSink, 'isClosed'>;
}

/** Plans the answer. Throws ModelError 400 for an invalid tool choice or schema. */
export async function planAnswer(turn: Turn, options: AnswerPlanOptions, randomFor: RandomFor): Promise<PlannedAnswer> {
  const { limit } = options;
  const parts = await writeParts(turn, options, randomFor);
  const whole = sumParts(parts);
  const reasoning = planReasoning(turn.settings, whole, limit, randomFor('reasoning'));
  const left = limit - (reasoning?.tokens ?? 0);
  return { reasoning, parts: left < whole ? cutParts(parts, left) : parts, cut: left < whole };
}

/** Tokens of all parts. */
export function sumParts(parts: readonly AnswerPart[]): number {
  return parts.reduce((sum, { pieces }) => sum + tokensOf({ pieces }), 0);
}

function tokensOf({ pieces }: Pick<AnswerPart, 'pieces'>): number {
  return pieces instanceof LongText ? pieces.tokens : sumTokens(pieces);
}

async function writeParts(
  turn: Turn,
  { wording, eagerness, sink }: AnswerPlanOptions,
  randomFor: RandomFor,
): Promise<readonly AnswerPart[]> {
  const tools = chooseTools(turn, eagerness, randomFor('tool'));
  if (tools.length === 0) {
    const tokens = drawTextLength(turn, wording, randomFor);
    const long = tokens === null ? null : writeAtLength(turn, wording, tokens, () => randomFor('text'));
    const pieces = long ?? splitIntoTokens(await writeText(turn, wording, randomFor('text')));
    return [{ tool: undefined, pieces }];
  }
  const random = randomFor('call');
  const tooMuch = new Set<unknown>();
  const parts: AnswerPart[] = [];
  for (const tool of tools) {
    const { type, name, namespace } = tool;
    const called = { type, name, ...(namespace === undefined ? {} : { namespace }) };
    parts.push({ tool: called, pieces: splitIntoTokens(await writeInput(tool, random, tooMuch)) });
    // Yields to other turns: each input may take several milliseconds.
    if (parts.length < tools.length) await setImmediate();
    if (sink.isClosed) break;
  }
  return parts;
}

function drawTextLength({ settings }: Turn, { length }: Wording, randomFor: RandomFor): number | null {
  return length === null ? null : drawLength(length, settings, reasoningRatioOf(settings), randomFor('length'));
}

/** Cuts the parts to `limit` tokens; parts without any token left are omitted. */
function cutParts(parts: readonly AnswerPart[], limit: number): readonly AnswerPart[] {
  let left = limit;
  const kept: AnswerPart[] = [];
  for (const { tool, pieces } of parts) {
    const fitting = pieces instanceof LongText ? pieces.take(left) : takeTokens(pieces, left);
    const tokens = tokensOf({ pieces: fitting });
    if (tokens > 0) kept.push({ tool, pieces: fitting });
    if (tokens < tokensOf({ pieces })) break;
    left -= tokens;
  }
  return kept;
}

/**
 * Arguments or input for a tool, valid under its schema or format. `tooMuch`: schemas that took too much work earlier in the turn;
 * they are not tried again.
 */
async function writeInput(tool: CallableTool, random: SeededRandom, tooMuch: Set<unknown>): Promise<string> {
  if (tool.type === 'function') return writeArguments(tool.parameters, random, tooMuch);
  const data = await makeData(toInputSchema(tool.format), random);
  return data.found && typeof data.value === 'string' ? data.value : writeProse(random, 6);
}

/** JSON text of arguments, which are an object even if the schema does not require one. */
async function writeArguments(parameters: unknown, random: SeededRandom, tooMuch: Set<unknown>): Promise<string> {
  if (!isSchemaObject(parameters) || tooMuch.has(parameters)) return '{}';
  const data = await makeData('type' in parameters ? parameters : { ...parameters, type: 'object' }, random);
  if (data.found) return JSON.stringify(data.value);
  if (data.tooMuch) tooMuch.add(parameters);
  return '{}';
}

/** The schema of a custom tool's input: a pattern for `regex` grammars; null for Lark grammars and plain text. */
function toInputSchema(format: unknown): unknown {
  if (!isSchemaObject(format) || format.syntax !== 'regex') return null;
  return { type: 'string', pattern: `^(?:${String(format.definition)})$` };
}
