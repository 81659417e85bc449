import { describeViolations } from './describe-violations.js';

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
  const [{ Ajv2020 }, { default: addFormats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  const ajv = new Ajv2020({ strict: false, strictNumbers: true, allErrors: true, verbose: true });
  addFormats.default(ajv, ['regex']);
  const validate = ajv.compile<T>(schema);
  if (!validate(value)) throw new Error(describeViolations(validate.errors ?? [], isSecret));
  return value;
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
