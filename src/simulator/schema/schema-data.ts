import { boundWork, runBounded, spend, TooMuchWork } from '../work.js';
import { SeededRandom } from '../seeded-random.js';
import { WorkCounter } from './count-work.js';
import { drawValue, REQUIRED_ONLY } from './draw-value.js';
import { SchemaNarrower } from './narrow-schema.js';
import type { PlainDocument } from './plain-document.js';
import { MOST_ITEMS, toPlainDocument } from './plain-schema.js';
import { isSchemaObject, NestsTooDeeply, NoValue, toEntries } from './schema-parts.js';
import { compileSchema } from './schema-validator.js';

/** Schemas within schemas, references included: Ajv has room for 320 at least. */
const MOST_LEVELS = 250;

const MAPS = ['properties', 'dependentSchemas', 'dependencies'];

/** A property of this name is lost: json-schema-faker sets the prototype instead, and Ajv leaves its schema out. */
const PROTOTYPE = '__proto__';

/** Of the same length and characters, so that the lengths and patterns of a schema mean the same. */
const STAND_INS = ['__protx__', '__proty__', '__protz__'];

/** Probability of optional properties in each attempt. */
const DRAWS = [0.7, 0.7, 0.4, 0, 0, 0] as const;
/** Depths to draw; the first within MOST_DRAWN applies. */
const DEPTHS = [12, 9, 7, 5, 3] as const;
const MOST_NARROWED = 12;
const TOO_LARGE = 'No value fits it, or only values that are too large for the simulator.';
/** Maximum parts that json-schema-faker may draw for one value. */
const MOST_DRAWN = 5000;
/** Maximum parts of the smallest value. */
const LARGEST_VALUE = 20_000;
/** Maximum schemas that Ajv may evaluate for one value. */
const MOST_CHECKS = 100_000;
/** Maximum steps of all work for one schema: about 0.2 s. Three times as many as 1,000 properties with patterns or 15,000 values need. */
const MOST_STEPS = 10_000_000;
/** Steps for a check of Ajv. */
const CHECK_STEPS = 10;

/** A valid value for a schema, or the reason why none was found. */
export type SchemaData =
  | { readonly found: true; readonly value: unknown }
  | { readonly found: false; readonly reason: string; readonly tooMuch: boolean };

/**
 * Finds a value that a JSON Schema allows, validated. Schema and seed determine what is returned, on any machine: all work is counted.
 * Fewer steps than usual only make `tooMuch` more likely. Throws a RangeError if the stack is too small, whose room differs from run to
 * run, and if uncounted work does not end: see `runBounded`.
 */
export function makeSchemaData(schema: unknown, seed: number, steps = MOST_STEPS): SchemaData {
  return runBounded(() => {
    try {
      return { found: true, value: boundWork(steps, () => findRestored(schema, seed)) };
    } catch (error) {
      if (isStackOverflow(error)) throw error;
      return { found: false, reason: explain(error), tooMuch: error instanceof TooMuchWork };
    }
  });
}

/** Whether V8 has thrown an error because the stack was used up. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message === 'Maximum call stack size exceeded';
}

/** The reason for the client, as a sentence about the schema. */
function explain(error: unknown): string {
  if (error instanceof RangeError) return 'It nests too deeply for the simulator.';
  return error instanceof Error ? error.message : String(error);
}

function findRestored(schema: unknown, seed: number): unknown {
  // Undefined for what is not JSON, which findValue() refuses.
  const text = JSON.stringify(schema) as string | undefined;
  const hidden = hidePrototype(text ?? '');
  return hidden === null ? findValue(schema, seed) : hidden.restore(findValue(hidden.schema, seed));
}

function findValue(schema: unknown, seed: number): unknown {
  if (!isSchemaObject(schema) && typeof schema !== 'boolean') throw new NoValue('It is not an object.');
  const document = toPlainDocument(schema);
  requireShallow(document);
  const counter = new WorkCounter(document);
  if (counter.countSmallest(document.root) > LARGEST_VALUE) throw new NoValue(TOO_LARGE);
  let validate: ReturnType<typeof compileSchema> | undefined;
  let reason: unknown;
  for (const make of listAttempts(document, counter, seed)) {
    let value: unknown;
    try {
      value = make();
    } catch (error) {
      if (error instanceof TooMuchWork || error instanceof NestsTooDeeply || isStackOverflow(error)) throw error;
      reason = error;
      continue;
    }
    const checks = counter.countChecks(document.root, value);
    if (checks > MOST_CHECKS) {
      throw new NoValue(
        `Its alternatives and references multiply to more than ${MOST_CHECKS} checks of one value, too many for the simulator.`,
      );
    }
    // Compiled late: most unsatisfiable schemas fail before, at less cost. That is no step: the size of the schema bounds it.
    validate ??= compileSchema(schema);
    spend(CHECK_STEPS * checks);
    if (validate(value)) return value;
  }
  throw reason instanceof NoValue ? reason : new NoValue('The simulator found no valid value for it.');
}

/** Attempts within the work limits: draws of the whole schema, then of narrowed schemas. */
function listAttempts(document: PlainDocument, counter: WorkCounter, seed: number): readonly (() => unknown)[] {
  const draws = DRAWS.flatMap((optionals, attempt) => {
    const settings = DEPTHS.map((depth) => ({ optionals, items: MOST_ITEMS, depth })).find(
      (candidate) => counter.countDraws(document.root, candidate) <= MOST_DRAWN,
    );
    if (settings === undefined) return [];
    return [() => drawValue(document.root, document, settings, new SeededRandom(seed, attempt))];
  });
  const narrowed = Array.from({ length: MOST_NARROWED }, (_, attempt) => () => {
    const random = new SeededRandom(seed, 'narrow', attempt);
    const schema = new SchemaNarrower(document, counter, random, attempt % 2 === 0).narrow(document.root);
    if (counter.countDraws(schema, REQUIRED_ONLY) > LARGEST_VALUE) throw new NoValue(TOO_LARGE);
    return drawValue(schema, document, REQUIRED_ONLY, random);
  });
  return [...draws, ...narrowed];
}

/** A schema without the name `__proto__`, and how to give values for it their names back. */
interface HiddenPrototype {
  readonly schema: unknown;
  restore(value: unknown): unknown;
}

/** Replaces the name `__proto__` in a schema, given as JSON; null when it does not have it. */
function hidePrototype(text: string): HiddenPrototype | null {
  if (!text.includes(PROTOTYPE)) return null;
  const standIn = STAND_INS.find((name) => !text.includes(name));
  if (standIn === undefined) return null;
  return {
    schema: JSON.parse(text.replaceAll(PROTOTYPE, standIn)),
    // JSON.parse makes `__proto__` a property like any other.
    restore: (value) => JSON.parse(JSON.stringify(value).replaceAll(standIn, PROTOTYPE)) as unknown,
  };
}

/**
 * Throws NestsTooDeeply for a schema that may be too deep for Ajv. It calls itself for each level. For how many there is room is
 * not the same in every run, because V8 makes the stack smaller of functions that have been called often.
 */
function requireShallow({ root, definitions, patterns }: PlainDocument): void {
  const seen = new Set<unknown>();

  function visit(schema: unknown, level: number): void {
    if (!isSchemaObject(schema) || seen.has(schema)) return;
    seen.add(schema);
    if (level > MOST_LEVELS) throw new NestsTooDeeply();
    const { $ref, enum: _listed, const: _single, pattern: _pattern, ...others } = schema;
    for (const [keyword, value] of Object.entries(others)) {
      const inner = MAPS.includes(keyword) ? toEntries(value).map(([, part]) => part) : [value].flat();
      for (const part of inner) visit(part, level + 1);
    }
    for (const [, part] of patterns.get(schema) ?? []) visit(part, level + 1);
    if (typeof $ref === 'string') visit(definitions.get($ref), level + 1);
  }

  visit(root, 1);
}
