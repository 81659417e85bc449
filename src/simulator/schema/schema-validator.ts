import { Ajv } from 'ajv';
import type { Options, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const OPTIONS: Options = {
  strict: false,
  validateFormats: true,
  // Names such as `constructor` and `__proto__` are there only where a value has them itself.
  ownProperties: true,
  // Whether the schema is a good one is not asked: what does not compile is refused, the rest is taken at its word.
  meta: false,
  validateSchema: false,
  logger: false,
  inlineRefs: false,
  // Ajv's optimiser is quadratic in the number of properties, and each validator here runs a few times only.
  code: { optimize: false },
  loopRequired: 20,
};

/** The current draft first; then what older clients send: patterns without the `u` flag, and the tuples of draft 7. */
const ATTEMPTS: readonly (() => Ajv | Ajv2020)[] = [
  () => new Ajv2020(OPTIONS),
  () => new Ajv2020({ ...OPTIONS, unicodeRegExp: false }),
  () => new Ajv({ ...OPTIONS, unicodeRegExp: false }),
];

const LONGEST_SCHEMA = 256 * 1024;
const LONGEST_REMEMBERED = 32 * 1024;
const MOST_REMEMBERED = 100;

const validators = new Map<string, ValidateFunction>();

/**
 * Compiles a schema, each in an Ajv of its own: two clients' schemas may have the same `$id`. A reference out of the
 * schema is an error; nothing is fetched. Throws on what is no schema.
 */
export function compileSchema(schema: object | boolean): ValidateFunction {
  const text = JSON.stringify(schema);
  if (text.length > LONGEST_SCHEMA) throw new Error('The schema is too large.');
  const known = validators.get(text);
  if (known !== undefined) return known;
  const compiled = compileAnew(schema);
  if (text.length <= LONGEST_REMEMBERED) {
    validators.set(text, compiled);
    const oldest = validators.keys().next();
    if (validators.size > MOST_REMEMBERED && oldest.done !== true) validators.delete(oldest.value);
  }
  return compiled;
}

function compileAnew(schema: object | boolean): ValidateFunction {
  let reason: unknown;
  for (const createAjv of ATTEMPTS) {
    try {
      return compileWith(createAjv(), schema);
    } catch (error) {
      reason ??= error;
    }
  }
  throw reason;
}

function compileWith(ajv: Ajv | Ajv2020, schema: object | boolean): ValidateFunction {
  addFormats.default(ajv);
  return ajv.compile(schema);
}
