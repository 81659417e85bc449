import { IsIn, IsInt, IsOptional, IsString, MaxLength, Min } from 'class-validator';
import { LONGEST_MODEL } from '../../protocol/index.js';

import { type EmbeddingInput, MOST_EMBEDDING_INPUTS } from '../../providers/index.js';
import {
  Closed,
  described,
  emptyArray,
  Satisfies,
  tooManyElements,
  tooShort,
  validatorOf,
  type Violation,
  wrongType,
} from '../../validation/index.js';

const TOKEN = { type: 'integer', minimum: 0 };
const TEXT = { type: 'string', minLength: 1 };
const LIST = { type: 'array', minItems: 1, maxItems: MOST_EMBEDDING_INPUTS };

/** A text, texts, the tokens of a text, or those of several. */
const input = described(
  (value) => {
    if (typeof value === 'string') return value === '' ? tooShort(1, value) : null;
    if (!Array.isArray(value)) return wrongType('a string or an array', value);
    if (value.length === 0) return emptyArray();
    // Tokens of one text have the limit of the model.
    if (typeof value[0] === 'number') return findViolation(value, token);
    if (value.length > MOST_EMBEDDING_INPUTS) return tooManyElements(MOST_EMBEDDING_INPUTS, value.length);
    return findViolation(value, typeof value[0] === 'string' ? text : tokens);
  },
  {
    anyOf: [
      TEXT,
      { ...LIST, items: TEXT },
      { type: 'array', minItems: 1, items: TOKEN },
      { ...LIST, items: { type: 'array', minItems: 1, items: TOKEN } },
    ],
  },
);

/** The body of `POST /embeddings`. */
@Closed()
export class CreateEmbeddingsBody {
  @IsString()
  @MaxLength(LONGEST_MODEL)
  readonly model!: string;

  @Satisfies(input)
  readonly input!: string | readonly string[] | readonly number[] | readonly (readonly number[])[];

  @IsOptional()
  @IsIn(['float', 'base64'])
  readonly encoding_format?: 'float' | 'base64' | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  readonly dimensions?: number | null;

  @IsOptional()
  @IsString()
  readonly user?: string | null;
}

export const validateEmbeddings = validatorOf(CreateEmbeddingsBody);

/** The inputs of a body, each as the upstream gets it. */
export function inputsOf({ input: given }: CreateEmbeddingsBody): readonly EmbeddingInput[] {
  if (typeof given === 'string') return [given];
  return typeof given[0] === 'number' ? [given as readonly number[]] : (given as readonly EmbeddingInput[]);
}

function findViolation(list: readonly unknown[], element: (value: unknown) => Violation | null): Violation | null {
  for (const [index, value] of list.entries()) {
    const violation = element(value);
    if (violation !== null) return violation.at(index);
  }
  return null;
}

function token(value: unknown): Violation | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? null : wrongType('a token', value);
}

function text(value: unknown): Violation | null {
  if (typeof value !== 'string') return wrongType('a string', value);
  return value === '' ? tooShort(1, value) : null;
}

function tokens(value: unknown): Violation | null {
  if (!Array.isArray(value)) return wrongType('an array of tokens', value);
  return value.length === 0 ? emptyArray() : findViolation(value, token);
}
