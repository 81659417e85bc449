import { createRequire } from 'node:module';

import type { Ajv2020 } from 'ajv/dist/2020.js';
import { Allow, IsBoolean, IsIn, IsOptional, IsString, Matches, MaxLength, MinLength } from 'class-validator';

import {
  type Check,
  Closed,
  described,
  every,
  isObject,
  nested,
  Satisfies,
  unionBy,
  Violation,
  wrongType,
} from '../../validation/index.js';
import { strictFormat } from './strict-schema.js';

const DRAFT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

/** Values at any depth: the validation cannot be interrupted. OpenAI accepts 5000 properties. */
const MOST_VALUES = 50_000;

let validator: Ajv2020 | undefined;

const check: Check = (value) => {
  if (!isObject(value)) return wrongType('an object', value);
  if (typeof value.$schema === 'string' && !DRAFT.test(value.$schema)) return null;
  if (isLarger(value, MOST_VALUES)) {
    const message = `more than ${MOST_VALUES} values, the most that this server accepts`;
    return new Violation('invalid_json_schema', (path) => `Invalid schema for '${path}': ${message}.`);
  }
  validator ??= loadValidator();
  // Here `$schema` is this draft, absent, or not a string, which the meta-schema refuses.
  if (validator.validate('https://json-schema.org/draft/2020-12/schema', value)) return null;
  const [error] = validator.errors ?? [];
  const place = error?.instancePath === '' ? '' : `In ${error?.instancePath ?? ''}: `;
  return new Violation(
    'invalid_json_schema',
    (path) => `Invalid schema for '${path}': ${place}${error?.message ?? ''}.`,
  );
};

/** Whether a value is a schema of draft 2020-12. It is never compiled; schemas of other drafts are accepted. */
const jsonSchema = described(check, { type: 'object', description: 'A JSON Schema.' });

/** A format that a type says all of. */
@Closed()
class PlainFormat {
  @Allow()
  readonly type!: unknown;
}

/** Of texts, in `text.format` and of what a `custom` tool takes. */
export const plainFormat = nested(PlainFormat);

/** `text.format` of type `json_schema` (protocol §2). */
@Closed()
class JsonSchemaFormat extends PlainFormat {
  @IsString()
  @MinLength(1)
  @MaxLength(64)
  @Matches(/^[a-zA-Z0-9_-]+$/)
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly description?: string | null;

  @IsOptional()
  @IsBoolean()
  readonly strict?: boolean | null;

  @Satisfies(jsonSchema)
  readonly schema!: object;
}

const schemaFormat = every([nested(JsonSchemaFormat), strictFormat]);

const textFormat = unionBy('type', { json_object: plainFormat, json_schema: schemaFormat, text: plainFormat });

/** The formats to which a `configuration_update` may change. */
export const updatedFormat = unionBy('type', { json_schema: schemaFormat, text: plainFormat });

/** `text` (protocol §2). */
@Closed()
export class TextConfig {
  @IsOptional()
  @Satisfies(textFormat)
  readonly format?: object | null;

  @IsOptional()
  @IsIn(['low', 'medium', 'high'])
  readonly verbosity?: string | null;
}

/** Loaded with the first schema, because loading is slow. */
function loadValidator(): Ajv2020 {
  const load = createRequire(import.meta.url) as (name: string) => { Ajv2020: new (options: object) => Ajv2020 };
  return new (load('ajv/dist/2020.js').Ajv2020)({ strict: false, logger: false });
}

/** Whether a value has more values in it. Stops there. */
function isLarger(value: object, limit: number): boolean {
  const pending: object[] = [value];
  let count = 1;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const member of Object.values(next) as unknown[]) {
      count += 1;
      if (typeof member === 'object' && member !== null) pending.push(member);
    }
    if (count > limit) return true;
  }
  return false;
}
