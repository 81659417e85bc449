import type { ResponseSettings } from '../../../protocol/index.js';
import { ModelError } from '../../model-error.js';
import type { Turn } from '../../turn.js';
import type { CallableTool } from './callable-tools.js';
import { chooseTool } from './choose-action.js';
import type { Reasoning } from './plan-reasoning.js';
import { planReasoning } from './plan-reasoning.js';
import { pickWord, writeProse } from './prose.js';
import { readText } from './read-text.js';
import type { SchemaData } from '../schema/schema-data.js';
import { isSchemaObject } from '../schema/schema-parts.js';
import { SeededRandom } from '../seeded-random.js';
import type { TokenPiece } from './token-pieces.js';
import { splitIntoTokens, sumTokens, takeTokens } from './token-pieces.js';

/** All that the model will do in a turn, before the first event of it. */
export interface Answer {
  readonly reasoning: Reasoning | undefined;
  /** The tool that is called; undefined where the answer is text. */
  readonly tool: CallableTool | undefined;
  /** The text, or the input of the call, as far as `max_output_tokens` lets it go. */
  readonly pieces: readonly TokenPiece[];
  /** Whether `max_output_tokens` cut the answer. */
  readonly cut: boolean;
}

/** Tokens of an answer in prose, at least; by `text.verbosity`. */
const PROSE_TOKENS: Readonly<Record<string, readonly [from: number, to: number]>> = {
  low: [12, 20],
  medium: [20, 45],
  high: [60, 110],
};

const LONGEST_SEED_TEXT = 64 * 1024;

/** Decides what to answer. Throws a ModelError where the request cannot be answered at all. */
export async function planAnswer(turn: Turn, seed: number): Promise<Answer> {
  const { settings, context } = turn;
  const last = context.at(-1);
  const text = last === undefined ? '' : readText(last);
  const identity = [seed, settings.model, context.length, text.length, text.slice(0, LONGEST_SEED_TEXT)] as const;
  const random = (use: string): SeededRandom => new SeededRandom(use, ...identity);

  const tool = chooseTool(turn, random('tool'));
  const written =
    tool === undefined ? await writeText(settings, random('text')) : await writeInput(tool, random('call'));
  const whole = splitIntoTokens(written);
  const limit = settings.max_output_tokens ?? Infinity;
  const reasoning = planReasoning(settings, sumTokens(whole), limit, random('reasoning'));
  const pieces = takeTokens(whole, limit - (reasoning?.tokens ?? 0));
  return { reasoning, tool, pieces, cut: pieces.length < whole.length };
}

async function writeText({ text }: ResponseSettings, random: SeededRandom): Promise<string> {
  switch (text.format?.type) {
    case 'json_object':
      return JSON.stringify({
        answer: writeProse(random, 8),
        topic: pickWord(random),
        count: random.pickInteger(1, 9),
      });
    case 'json_schema':
      return writeStructured(text.format.name, text.format.schema, random);
    default: {
      const [from, to] = PROSE_TOKENS[text.verbosity ?? 'medium'] ?? [20, 45];
      return writeProse(random, random.pickInteger(from, to));
    }
  }
}

async function writeStructured(name: string, schema: unknown, random: SeededRandom): Promise<string> {
  const data = await makeData(schema, random);
  if (data.found) return JSON.stringify(data.value);
  throw new ModelError('invalid_json_schema', `Invalid schema for response_format '${name}': ${data.reason}`, {
    status: 400,
    param: 'text.format.schema',
  });
}

async function writeInput(tool: CallableTool, random: SeededRandom): Promise<string> {
  if (tool.type === 'function') return writeArguments(tool.parameters, random);
  const data = await makeData(toInputSchema(tool.format), random);
  return data.found && typeof data.value === 'string' ? data.value : writeProse(random, 6);
}

/** Arguments are an object, also where the schema does not say so. */
async function writeArguments(parameters: unknown, random: SeededRandom): Promise<string> {
  if (!isSchemaObject(parameters)) return '{}';
  const data = await makeData('type' in parameters ? parameters : { ...parameters, type: 'object' }, random);
  return data.found ? JSON.stringify(data.value) : '{}';
}

/** Grammars in regular expressions can be followed; those in Lark cannot, and any text can be anything. */
function toInputSchema(format: unknown): unknown {
  if (!isSchemaObject(format) || format.syntax !== 'regex') return null;
  return { type: 'string', pattern: `^(?:${String(format.definition)})$` };
}

/** Ajv takes a while to load, and most turns do without it. */
async function makeData(schema: unknown, random: SeededRandom): Promise<SchemaData> {
  const { makeSchemaData } = await import('../schema/schema-data.js');
  return makeSchemaData(schema, random.pickInteger(0, 0x7fffffff));
}
