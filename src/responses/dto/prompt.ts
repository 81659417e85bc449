import { IsOptional, IsString } from 'class-validator';

import {
  type Check,
  Closed,
  compile,
  described,
  isObject,
  nested,
  Satisfies,
  schemaOf,
  stringOr,
  wrongType,
} from '../../validation/index.js';
import { toolOutputPart } from './content-parts.js';

const variable = stringOr({
  kind: 'object',
  check: toolOutputPart,
  expected: 'one of a string or an input_text, input_image or input_file part',
});

const checkVariables: Check = (value, options) => {
  if (!isObject(value)) return wrongType('an object', value);
  for (const [name, member] of Object.entries(value)) {
    const violation = variable(member, options);
    if (violation !== null) return violation.under(name);
  }
  return null;
};

/** `prompt` (protocol §2). */
@Closed()
export class PromptBody {
  @IsString()
  readonly id!: string;

  @IsOptional()
  @IsString()
  readonly version?: string | null;

  @IsOptional()
  @Satisfies(
    described(checkVariables, (definitions) => ({
      type: 'object',
      additionalProperties: schemaOf(variable, definitions),
    })),
  )
  readonly variables?: Readonly<Record<string, unknown>> | null;
}

class WithPrompt {
  @Satisfies(nested(PromptBody))
  readonly prompt!: PromptBody;
}

/** Checks the `prompt` of a body that has one, before it decides about the rest. Throws ApiError 400. */
export const checkPrompt = compile(WithPrompt);
