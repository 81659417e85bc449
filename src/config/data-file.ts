import { createRequire } from 'node:module';

import type * as Ajv from 'ajv/dist/2020.js';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { FormatsPlugin } from 'ajv-formats';

import { RecentMap } from '../recent-map.js';
import { clip, didYouMean, kindOf } from '../validation/index.js';
import { surelyMatches } from './matches-schema.js';

/** Priority of several violations at one place; other keywords rank in between. */
const TELLING = ['type', 'additionalProperties'];

const LESS_TELLING = ['oneOf', 'anyOf', 'not', 'required', 'if'];

/** Names that are quoted even from a file with keys: those of members are short, and have no capitals or digits. */
const NAME_OF_MEMBER = /^(?=.{1,32}$)[a-z]+(?:_[a-z]+)*$/;

/** Kept, because compiling takes longer than reading most files. */
const compiled = new WeakMap<object, ValidateFunction>();
/** The last ones by the text of their schemas: one that is made for a file is made again when that is read again. */
const recent = new RecentMap<ValidateFunction>(8);
let loaded: Ajv2020 | undefined;

/**
 * Parses a file as JSON, if its name ends in `.json`, or YAML. Throws an Error whose first line describes the problem.
 */
export async function parseDataFile(path: string, content: string): Promise<unknown> {
  // Loaded on demand: loading is slow, and most services have no such files.
  const { parse } = await import('yaml');
  // Without `logLevel`, warnings that quote the file go to stderr.
  return parseJson(path, content) ?? parse(content, { logLevel: 'error', merge: true });
}

/** Parses a file with keys as `parseDataFile` does. Its Error has the parser's reason and the place of the fault, but quotes nothing. */
export async function parseSecretFile(path: string, content: string): Promise<unknown> {
  try {
    return await parseDataFile(path, content);
  } catch (error) {
    const { linePos, message } = error as ParseFault;
    const [start] = linePos ?? [];
    const place = start === undefined ? '' : `, at line ${start.line}, column ${start.col}`;
    // What is quoted follows a colon or is an escape sequence.
    const [reason = ''] = message.split(/ at line |:? \\|: |\n/);
    throw new Error(`the file is neither YAML nor JSON${place}: ${reason}`);
  }
}

/** An error of the YAML parser. */
interface ParseFault {
  readonly message: string;
  readonly linePos?: readonly { readonly line: number; readonly col: number }[];
}

/** What is wrong at one place of a value. */
export interface SchemaViolation {
  /** The names and indices that lead to the place. */
  readonly path: readonly string[];
  /** With the place in front: `turns[2] must be …`. */
  readonly text: string;
}

/** A value does not match its schema. The message is the most specific violation. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';

  /** `violations`: the most specific first; at least one. */
  constructor(readonly violations: readonly SchemaViolation[]) {
    super(violations[0]?.text ?? 'the file is not valid');
  }
}

/** A JSON Schema of an object with only these members; `rest` are its other rules. */
export function objectSchema(properties: object, rest: object = {}) {
  return { type: 'object', properties, additionalProperties: false, ...rest };
}

/**
 * Returns the value if it matches a JSON Schema. Throws SchemaError. With `isSecret`, it quotes an unknown member only if it looks like a
 * name. `whole` is what messages call the value.
 */
// Callers name the type that the schema describes.
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function requireSchema<T>(value: unknown, schema: object, { isSecret = false, whole = 'the file' } = {}): T {
  if (surelyMatches(schema, value)) return value as T;
  const validate = compiled.get(schema) ?? compile(schema);
  if (!validate(value)) throw new SchemaError(describeViolations(validate.errors ?? [], { isSecret, whole }));
  return value as T;
}

/** All that an error says is wrong with a file, in a line each, without a trailing period or colon. */
export function faultsOf(error: unknown): readonly string[] {
  return error instanceof SchemaError ? error.violations.map(({ text }) => text) : [firstLineOf(error)];
}

function compile(schema: object): ValidateFunction {
  const ajv = (loaded ??= load());
  const text = JSON.stringify(schema);
  const validate = recent.get(text) ?? ajv.compile(schema);
  compiled.set(schema, validate);
  recent.set(text, validate);
  // Ajv would keep every schema that it has compiled.
  ajv.removeSchema(schema);
  return validate;
}

/** Loaded with the first value that is not plainly valid. */
function load(): Ajv2020 {
  const require = createRequire(import.meta.url);
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof Ajv;
  const addFormats = require('ajv-formats') as FormatsPlugin;
  const ajv = new Ajv2020({
    strict: false,
    strictNumbers: true,
    allErrors: true,
    verbose: true,
    // The schemas are our own. To check them and to optimise their code takes longer than to compile them.
    validateSchema: false,
    meta: false,
    code: { optimize: false },
  });
  addFormats(ajv, ['regex']);
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

/** One violation per place, and one per unknown member, the most specific first. */
function describeViolations(
  errors: readonly ErrorObject[],
  { isSecret, whole }: { readonly isSecret: boolean; readonly whole: string },
): readonly SchemaViolation[] {
  const sorted = errors.toSorted((a, b) => depthOf(b) - depthOf(a) || rankOf(a) - rankOf(b));
  const told: ErrorObject[] = [];
  for (const error of sorted) {
    const first = told.find(({ instancePath }) => instancePath === error.instancePath);
    const isAnotherMember = error.keyword === 'additionalProperties' && first?.keyword === error.keyword;
    if (first === undefined ? !followsFrom(error, told) : isAnotherMember) told.push(error);
  }
  const violations = told.map((error) => ({
    path: pathOf(error),
    text: `${placeOf(error) || whole} ${wordsOf(error, isSecret)}`,
  }));
  return violations.filter(({ text }, index) => violations.findIndex((other) => other.text === text) === index);
}

/** Whether a rule about a whole value fails only because something within it does. */
function followsFrom({ keyword, instancePath }: ErrorObject, told: readonly ErrorObject[]): boolean {
  const isOfWhole = ['oneOf', 'anyOf', 'not', 'if', 'propertyNames'].includes(keyword);
  return isOfWhole && told.some((other) => other.instancePath.startsWith(`${instancePath}/`));
}

/** Empty for the whole. */
function placeOf({ instancePath }: ErrorObject): string {
  return instancePath
    .slice(1)
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.');
}

/** The place of an error; for an unknown member, that of the member. */
function pathOf({ instancePath, params }: ErrorObject): readonly string[] {
  const { additionalProperty: member } = params as { readonly additionalProperty?: string };
  const path = instancePath.split('/').slice(1);
  const names = path.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return member === undefined ? names : [...names, member];
}

function depthOf({ instancePath }: ErrorObject): number {
  return instancePath.split('/').length;
}

function rankOf({ keyword }: ErrorObject): number {
  if (TELLING.includes(keyword)) return TELLING.indexOf(keyword);
  return TELLING.length + 1 + LESS_TELLING.indexOf(keyword);
}

/** What the error says is wrong, what would be right, and what is there; of a file with keys, no values. */
function wordsOf(error: ErrorObject, isSecret: boolean): string {
  const { keyword, message = 'is not valid', params, parentSchema, data } = error;
  const { description, properties = {} } = (parentSchema ?? {}) as {
    readonly description?: string;
    readonly properties?: object;
  };
  // Rules about several members are described in their schema.
  if (description !== undefined && ['oneOf', 'anyOf', 'not', 'pattern'].includes(keyword)) return description;
  if (keyword === 'additionalProperties') {
    const { additionalProperty } = params as { readonly additionalProperty: string };
    return describeUnknown(additionalProperty, Object.keys(properties), isSecret);
  }
  if (keyword === 'enum') {
    const { allowedValues } = params as { readonly allowedValues: readonly unknown[] };
    return describeOther(data, allowedValues.map(String), isSecret);
  }
  if (keyword === 'type') {
    const { type } = params as { readonly type: string | readonly string[] };
    const wanted = [type].flat().map((name) => KINDS.get(name) ?? name);
    return `must be ${wanted.join(' or ')}, but is ${data === null ? 'null' : kindOf(data)}`;
  }
  const unit = UNITS.get(keyword.slice('min'.length));
  if (unit !== undefined) return describeSize(keyword, (params as { readonly limit: number }).limit, unit);
  return typeof data === 'number' && !isSecret ? `${message}, but is ${data}` : message;
}

/** What `minLength`, `maxItems` and their like count. */
const UNITS: ReadonlyMap<string, string> = new Map([
  ['Items', 'entries'],
  ['Length', 'characters'],
  ['Properties', 'members'],
]);

function describeSize(keyword: string, limit: number, unit: string): string {
  if (keyword.startsWith('max')) return `must have at most ${limit} ${unit}`;
  return limit === 1 ? 'must not be empty' : `must have at least ${limit} ${unit}`;
}

/** The types of JSON Schema, named as `kindOf` names them. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['array', 'an array'],
  ['boolean', 'a boolean'],
  ['integer', 'an integer'],
  ['number', 'a number'],
  ['object', 'an object'],
  ['string', 'a string'],
]);

function describeUnknown(member: string, known: readonly string[], isSecret: boolean): string {
  const isQuoted = !isSecret || NAME_OF_MEMBER.test(member);
  const [meant] = isQuoted ? didYouMean(member, known) : [];
  if (meant !== undefined) return `has the unknown member '${member}' (did you mean '${meant}'?)`;
  return `must have no other members than ${known.join(', ')}${isQuoted ? `, but has '${member}'` : ''}`;
}

function describeOther(value: unknown, allowed: readonly string[], isSecret: boolean): string {
  const rule = `must be ${allowed.length > 1 ? 'one of ' : ''}${allowed.join(', ')}`;
  if (isSecret) return rule;
  if (typeof value !== 'string') return `${rule}, but is ${value === null ? 'null' : kindOf(value)}`;
  const [meant] = didYouMean(value, allowed);
  return `${rule}, but is '${clip(value)}'${meant === undefined ? '' : ` (did you mean '${meant}'?)`}`;
}
