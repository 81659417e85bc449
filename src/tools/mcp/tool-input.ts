import type { MaybePromise } from '../../time/index.js';
import { isObject } from '../../validation/index.js';
import { type JsonInput, ServerToolError, type StandardInput, type StandardResult } from './server-tool.js';

/** The arguments of a tool of the program. */
export interface ToolInput {
  /** What models are told. */
  readonly schema: object;
  /** The arguments as the handler gets them. Throws ServerToolError for those that do not match. */
  read(args: Readonly<Record<string, unknown>>): MaybePromise<unknown>;
}

/** Compiles the schema of a tool. Rejects with an Error for what is no schema of an object. */
export async function compileInput(input: StandardInput<unknown> | JsonInput): Promise<ToolInput> {
  const compiled = isStandard(input) ? fromStandard(input) : await fromJsonSchema(input);
  if ((compiled.schema as JsonInput)['type'] !== 'object') throw new Error("its input must have the type 'object'");
  return compiled;
}

/** By its structure: which library a program has, and how many of it, is its own affair. */
function isStandard(input: StandardInput<unknown> | JsonInput): input is StandardInput<unknown> {
  return '~standard' in input;
}

function fromStandard({ '~standard': standard }: StandardInput<unknown>): ToolInput {
  if (!isObject(standard.jsonSchema)) throw new Error('its input cannot be told as JSON Schema: use zod 4.2 or newer');
  const { $schema: _, ...schema } = standard.jsonSchema.input({ target: 'draft-2020-12' }) as JsonInput;
  return {
    schema,
    async read(args) {
      const result: StandardResult<unknown> = await standard.validate(args);
      if (result.issues === undefined) return result.value;
      throw new ServerToolError(`Invalid arguments: ${result.issues.map(toText).join('; ')}`);
    },
  };
}

async function fromJsonSchema(schema: JsonInput): Promise<ToolInput> {
  // Loaded on demand: loading is slow, and most services have no such tools.
  const [{ Ajv2020 }, { default: addFormats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  // One for each schema: two may have the same `$id`.
  const ajv = new Ajv2020({ strict: false, allErrors: true, ownProperties: true, logger: false });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  return {
    schema,
    read(args) {
      if (validate(args)) return args;
      throw new ServerToolError(`Invalid arguments: ${ajv.errorsText(validate.errors, { dataVar: 'arguments' })}`);
    },
  };
}

type Issue = NonNullable<StandardResult<unknown>['issues']>[number];

function toText({ message, path = [] }: Issue): string {
  const names = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return names.length === 0 ? message : `${names.join('.')}: ${message}`;
}
