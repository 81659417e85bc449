import { describeViolations } from './describe-violations.js';

/** The value of a file in JSON, by its name, or YAML. Throws an Error whose first line says what is wrong. */
export async function parseDataFile(path: string, content: string): Promise<unknown> {
  // Loaded here: it takes a while, and most services have no such files.
  const { parse } = await import('yaml');
  // Warnings would be written to stderr, with lines of the file.
  return parseJson(path, content) ?? parse(content, { logLevel: 'error', merge: true });
}

/**
 * Gives the value back if it fits a JSON Schema. Throws an Error that says where it does not: `turns[2] must be …`. Where there are
 * secrets in the file, it does not say what it is that does not belong there.
 */
export async function requireSchema<T>(value: unknown, schema: object, { isSecret = false } = {}): Promise<T> {
  const [{ Ajv2020 }, { default: addFormats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  const ajv = new Ajv2020({ strict: false, strictNumbers: true, allErrors: true, verbose: true });
  addFormats.default(ajv, ['regex']);
  const validate = ajv.compile<T>(schema);
  if (!validate(value)) throw new Error(describeViolations(validate.errors ?? [], isSecret));
  return value;
}

/** The first line of an error's message, without the point or colon at its end. */
export function firstLineOf(error: unknown): string {
  const [line = ''] = String((error as { readonly message?: unknown }).message).split('\n');
  return line.replace(/[:.]$/, '');
}

/** Undefined for what is no JSON: it is read as YAML, which tells its violations with their place. */
function parseJson(path: string, content: string): unknown {
  if (!path.endsWith('.json')) return undefined;
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
