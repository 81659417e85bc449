import { Ajv, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { RecentMap } from '../../recent-map.js';
import { compileFlagged } from './schema-pattern.js';

/** Makes Ajv count the steps of patterns. The name would only be written to files. */
const regExp = Object.assign(compileFlagged, { code: 'compileFlagged' });

const OPTIONS: Options = {
  strict: false,
  validateFormats: true,
  // Ignores inherited names such as `constructor` and `__proto__`.
  ownProperties: true,
  // Schemas are not validated beyond compilation.
  meta: false,
  validateSchema: false,
  logger: false,
  inlineRefs: false,
  // Ajv's optimiser is quadratic in the number of properties, and each validator runs only a few times.
  code: { optimize: false, regExp },
  loopRequired: 20,
};

/** Draft 2020-12; then without the `u` flag for patterns, and draft 7, which older clients use. */
const ATTEMPTS: readonly (() => Ajv | Ajv2020)[] = [
  () => new Ajv2020(OPTIONS),
  () => new Ajv2020({ ...OPTIONS, unicodeRegExp: false }),
  () => new Ajv({ ...OPTIONS, unicodeRegExp: false }),
];

const LONGEST_SCHEMA = 256 * 1024;
const LONGEST_REMEMBERED = 32 * 1024;
const MOST_REMEMBERED = 100;

const validators = new RecentMap<ValidateFunction>(MOST_REMEMBERED);

/**
 * Compiles a schema, each with its own Ajv, because schemas of different clients may share an `$id`. References are not fetched.
 * Throws an Error for an invalid schema or an external reference.
 */
export function compileSchema(schema: object | boolean): ValidateFunction {
  const text = JSON.stringify(schema);
  if (text.length > LONGEST_SCHEMA) throw new Error('The schema is too large.');
  const known = validators.get(text);
  if (known !== undefined) return known;
  const compiled = compileAnew(schema);
  if (text.length <= LONGEST_REMEMBERED) validators.set(text, compiled);
  return compiled;
}

function compileAnew(schema: object | boolean): ValidateFunction {
  let reason: unknown;
  for (const createAjv of ATTEMPTS) {
    try {
      return compileWith(createAjv(), schema);
    } catch (error) {
      // Too many properties in one object: the next attempt would need as much of the stack.
      if (error instanceof RangeError) throw error;
      reason ??= error;
    }
  }
  throw reason;
}

function compileWith(ajv: Ajv | Ajv2020, schema: object | boolean): ValidateFunction {
  addFormats.default(ajv);
  return ajv.compile(schema);
}
