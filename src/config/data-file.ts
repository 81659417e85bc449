import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';

/** Priority of several violations at one place; other keywords rank in between. */
const TELLING = ['type', 'additionalProperties'];

const LESS_TELLING = ['oneOf', 'anyOf', 'not', 'required', 'if'];

/** Names that are quoted even from a file with keys: those of members are short, and have no capitals or digits. */
const NAME_OF_MEMBER = /^(?=.{1,32}$)[a-z]+(?:_[a-z]+)*$/;

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

/** The most specific violation of a file, with its place: `turns[2].steps[0] must be …`. */
function describeViolations(errors: readonly ErrorObject[], isSecret: boolean): string {
  const [worst] = errors.toSorted((a, b) => depthOf(b) - depthOf(a) || rankOf(a) - rankOf(b));
  if (worst === undefined) return 'the file is not valid';
  const place = worst.instancePath
    .slice(1)
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.');
  return `${place === '' ? 'the file' : place} ${wordsOf(worst, isSecret)}`;
}

function depthOf({ instancePath }: ErrorObject): number {
  return instancePath.split('/').length;
}

function rankOf({ keyword }: ErrorObject): number {
  if (TELLING.includes(keyword)) return TELLING.indexOf(keyword);
  return TELLING.length + 1 + LESS_TELLING.indexOf(keyword);
}

/** Rules about several members use the description in the schema. */
function wordsOf({ keyword, message = 'is not valid', params, parentSchema }: ErrorObject, isSecret: boolean): string {
  const { description, properties = {} } = (parentSchema ?? {}) as {
    readonly description?: string;
    readonly properties?: object;
  };
  const { additionalProperty, allowedValues } = params as { additionalProperty?: string; allowedValues?: string[] };
  if (isSecret && additionalProperty !== undefined) {
    const found = NAME_OF_MEMBER.test(additionalProperty) ? `, but has '${additionalProperty}'` : '';
    return `must have no other members than ${Object.keys(properties).join(', ')}${found}`;
  }
  if (description !== undefined && ['oneOf', 'anyOf', 'not', 'pattern'].includes(keyword)) return description;
  const detail = additionalProperty ?? allowedValues?.join(', ');
  return detail === undefined ? message : `${message} (${detail})`;
}
