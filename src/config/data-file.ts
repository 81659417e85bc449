import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';

import { describeViolations } from './describe-violations.js';

/** Kept, because compiling takes longer than reading most files. */
const compiled = new WeakMap<object, ValidateFunction>();
let loading: Promise<Ajv2020> | undefined;

/**
 * Parses a file as JSON, if its name ends in `.json`, or YAML. Throws an Error whose first line describes the problem.
 */
export async function parseDataFile(path: string, content: string): Promise<unknown> {
  // Loaded on demand: loading is slow, and most services have no such files.
  const { parse } = await import('yaml');
  // Without `logLevel`, warnings that quote the file go to stderr.
  return parseJson(path, content) ?? parse(content, { logLevel: 'error', merge: true });
}

/**
 * Returns the value if it matches a JSON Schema. Throws an Error that names the place of the violation: `turns[2] must
 * be …`. With `isSecret`, the message quotes an unknown member only if it looks like a name.
 */
export async function requireSchema<T>(value: unknown, schema: object, { isSecret = false } = {}): Promise<T> {
  const validate = compiled.get(schema) ?? (await compile(schema));
  if (!validate(value)) throw new Error(describeViolations(validate.errors ?? [], isSecret));
  return value as T;
}

async function compile(schema: object): Promise<ValidateFunction> {
  const ajv = await (loading ??= load());
  const validate = ajv.compile(schema);
  compiled.set(schema, validate);
  // It would keep those that are made for one file, too.
  ajv.removeSchema(schema);
  return validate;
}

async function load(): Promise<Ajv2020> {
  const [{ Ajv2020 }, { default: addFormats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  const ajv = new Ajv2020({ strict: false, strictNumbers: true, allErrors: true, verbose: true });
  addFormats.default(ajv, ['regex']);
  return ajv;
}

/** The first line of an error's message, without a trailing period or colon. */
export function firstLineOf(error: unknown): string {
  const [line = ''] = String((error as { readonly message?: unknown }).message).split('\n');
  return line.replace(/[:.]$/, '');
}

/** Undefined for invalid JSON: the YAML parser then reports the violation with its position. */
function parseJson(path: string, content: string): unknown {
  if (!path.endsWith('.json')) return undefined;
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
