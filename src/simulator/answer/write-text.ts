import { LoremIpsum } from 'lorem-ipsum';

import { countTokens, ModelError, type Turn } from '../../providers/index.js';
import { isUserMessage } from '../../providers/transcripts/index.js';
import type { GeneratorName } from '../names.js';
import type { LengthSetting } from '../length.js';
import type { SchemaData } from '../schema/schema-data.js';
import type { SeededRandom } from '../seeded-random.js';
import { writeProse, writeSentences } from './prose.js';
import { listPartTypes, readText } from './read-items.js';
import { LongText } from './token-pieces.js';
import { pickWord } from './words.js';

/** Characters that are quoted of a message. */
const QUOTE_LENGTH = 40;

/** A line of a summary has up to so many tokens; reasoning needs some, too. */
const TOKENS_PER_LINE = 64;

/** How texts are generated. */
export interface Wording {
  readonly generator: GeneratorName;
  /** The text of `fixed`; the texts of `sequence`, separated by `|`. */
  readonly text: string;
  /** Position in the sequence, from 0; increases with each call, past the end. */
  readonly nextPosition: () => number;
  /** The length of `random` and `lorem`; null: by `text.verbosity`. */
  readonly length: LengthSetting | null;
}

/** Range of the minimum tokens of an answer, by `text.verbosity`. */
const PROSE_TOKENS: Readonly<Record<string, readonly [from: number, to: number]>> = {
  low: [12, 20],
  medium: [20, 45],
  high: [60, 110],
};

/** Characters of an echo. Log probabilities can enlarge an answer a thousandfold. */
const LONGEST_ECHO = 16 * 1024;

/**
 * Writes the text of an answer. A summary of the context is the same whatever the generator. `fixed` and `sequence` ignore `text.format`; the other generators follow it. Throws ModelError
 * 400 `invalid_json_schema` if no value is found for the schema.
 */
export async function writeText(turn: Turn, wording: Wording, random: SeededRandom): Promise<string> {
  if (turn.purpose === 'summary') return writeSummary(turn);
  if (wording.generator === 'fixed') return wording.text;
  if (wording.generator === 'sequence') return pickPart(wording);
  const { format } = turn.settings.text;
  if (format?.type === 'json_object') return writeObject(random);
  if (format?.type === 'json_schema') return writeStructured(format.name, format.schema, random);
  return FREE_TEXT[wording.generator](turn, random);
}

/** A text of exactly so many tokens; null where the content decides the length. */
export function writeAtLength(
  { purpose, settings }: Turn,
  { generator }: Wording,
  tokens: number,
  random: () => SeededRandom,
): LongText | null {
  const isFree = purpose !== 'summary' && (settings.text.format?.type ?? 'text') === 'text';
  if (!isFree || (generator !== 'random' && generator !== 'lorem')) return null;
  return new LongText(tokens, () =>
    generator === 'random' ? writeSentences(random()) : writeLoremSentences(random()),
  );
}

const FREE_TEXT: Readonly<
  Record<Exclude<GeneratorName, 'fixed' | 'sequence'>, (turn: Turn, random: SeededRandom) => string>
> = {
  random: (turn, random) => writeProse(random, pickLength(turn, random)),
  lorem: (turn, random) => writeLorem(random, pickLength(turn, random)),
  echo: ({ context }) => {
    const message = context.findLast(isUserMessage);
    if (message === undefined) return '';
    return takeCharacters(readText(message), LONGEST_ECHO) || `[${listPartTypes(message).join(', ')}]`;
  },
};

/** The first `length` characters, without a split surrogate pair at the end. */
function takeCharacters(text: string, length: number): string {
  const taken = text.slice(0, length);
  return taken.isWellFormed() || !text.isWellFormed() ? taken : taken.slice(0, -1);
}

function pickPart({ text, nextPosition }: Wording): string {
  const parts = text.split('|').map((part) => part.trim());
  return parts[nextPosition() % parts.length] ?? '';
}

function pickLength({ settings }: Turn, random: SeededRandom): number {
  const [from, to] = PROSE_TOKENS[settings.text.verbosity ?? 'medium'] ?? [20, 45];
  return random.pickInteger(from, to);
}

function writeLorem(random: SeededRandom, tokens: number): string {
  let text = '';
  let written = 0;
  for (const sentence of writeLoremSentences(random)) {
    text += sentence;
    written += countTokens(sentence.trimStart());
    if (written >= tokens) break;
  }
  return text;
}

/** Sentences without end; all but the first begin with a space. */
function* writeLoremSentences(random: SeededRandom): Generator<string> {
  const lorem = new LoremIpsum({ random: () => random.pickFraction() });
  yield lorem.generateSentences(1);
  for (;;) yield ` ${lorem.generateSentences(1)}`;
}

function writeObject(random: SeededRandom): string {
  return JSON.stringify({ answer: writeProse(random, 8), topic: pickWord(random), count: random.pickInteger(1, 9) });
}

async function writeStructured(name: string, schema: unknown, random: SeededRandom): Promise<string> {
  const data = await makeData(schema, random);
  if (data.found) return JSON.stringify(data.value);
  throw new ModelError('invalid_json_schema', `Invalid schema for response_format '${name}': ${data.reason}`, {
    status: 400,
    param: 'text.format.schema',
  });
}

/** The summary of a context: how many items it has, and the beginnings of the latest, as far as `max_output_tokens` permits. */
function writeSummary({ context, settings }: Turn): string {
  // The question for it comes last.
  const items = context.slice(0, -1);
  const lines = Math.min(20, Math.floor((settings.max_output_tokens ?? Infinity) / TOKENS_PER_LINE));
  const quoted = items.slice(Math.max(0, items.length - lines)).map((item) => {
    const who = typeof item.role === 'string' ? item.role : item.type;
    return `- ${who}: ${Array.from(readText(item)).slice(0, QUOTE_LENGTH).join('').replaceAll('\n', ' ')}`;
  });
  return [`Summary of ${items.length} items.`, ...quoted].join('\n');
}

/** A value that a schema allows. Ajv is loaded on first use, because it is slow to load and most turns do not need it. */
export async function makeData(schema: unknown, random: SeededRandom): Promise<SchemaData> {
  const { fillSchema } = await import('../schema/fill-schema.js');
  return fillSchema(schema, random.pickInteger(0, 0x7fffffff));
}
