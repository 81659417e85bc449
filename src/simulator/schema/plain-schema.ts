import type { Pattern } from '../pattern/pattern.js';
import { spend, TooMuchWork } from '../work.js';
import { type PatternProperty, type PlainDocument, type PlainSchema, settlePatterns } from './plain-document.js';
import {
  isSchemaObject,
  listAlternatives,
  MOST_LEVELS,
  NestsTooDeeply,
  NoValue,
  type SchemaObject,
  toEntries,
  toList,
  toNumber,
  toTypes,
} from './schema-parts.js';
import { compilePattern } from './schema-pattern.js';

const SCHEMA_STEPS = 20;

/** Maximum items of a list, beyond the required ones. */
export const MOST_ITEMS = 3;

const VALUES = [
  ...['type', 'enum', 'const', 'format', 'pattern', 'minLength', 'maxLength', 'multipleOf', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems', 'uniqueItems', 'minContains', 'maxContains'],
  ...['minProperties', 'maxProperties', 'required', 'dependentRequired'],
];
const SCHEMAS = ['items', 'contains', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else'];
const BRANCHES = ['allOf', 'anyOf', 'oneOf'];
const LISTS = ['prefixItems', ...BRANCHES];
const MAPS = ['properties', 'dependentSchemas', 'dependencies'];
/** Keywords whose schemas hold for the same value, and so have to obey the same patterns. */
const IN_PLACE = ['allOf', 'anyOf', 'oneOf', 'then', 'else'];
/** Keywords to cap: json-schema-faker draws up to the maximum, however large. */
const MOST_AND_LEAST = [
  ['maxLength', 'minLength'],
  ['maxContains', 'minContains'],
] as const;
const MOST_BEYOND_LEAST = 50;

/** Maximum values in a schema, at any depth. OpenAI accepts 5000 properties. */
const MOST_PARTS = 20_000;
/** Maximum properties of one object that depend on others: json-schema-faker looks at each pair of them. */
const MOST_DEPENDENT = 500;
/** Maximum schemas in one list of branches: Ajv takes the square of their number to compile them, and the cube of many. */
const MOST_BRANCHES = 1000;
/** Maximum characters of all patterns. */
const MOST_PATTERN_CHARACTERS = 64 * 1024;
/** Steps to rewrite a schema, and to compile a character of a pattern. */
const CONVERT_STEPS = 100;
const COMPILE_STEPS = 10;

/** Rewrites a schema for json-schema-faker, which treats unknown keywords as properties. Throws NoValue. */
export function toPlainDocument(root: SchemaObject | boolean): PlainDocument {
  return new DocumentWriter(root).write();
}

class DocumentWriter {
  private readonly named: ReadonlyMap<string, unknown>;
  private readonly names = new Map<unknown, string>();
  private readonly targets: (readonly [name: string, target: unknown])[] = [];
  private readonly definitions = new Map<string, PlainSchema>();
  private readonly schemas: SchemaObject[] = [];
  private readonly patterns = new Map<SchemaObject, readonly PatternProperty[]>();
  private readonly converted = new Map<unknown, readonly PatternProperty[]>();
  private readonly sources = new Set<string>();
  private patternCharacters = 0;

  constructor(private readonly root: SchemaObject | boolean) {
    this.named = listNamedSchemas(root);
  }

  write(): PlainDocument {
    const { definitions, schemas, patterns } = this;
    const root = this.convert(this.root);
    // One after the other: references may follow one another for longer than the stack is deep.
    for (const [name, target] of this.targets) this.definitions.set(name, this.convert(target));
    return { root, definitions, schemas, patterns, merged: countMerged({ definitions, schemas }) };
  }

  private defineTarget(reference: string): string {
    const target = resolveReference(reference, this.root, this.named);
    let name = this.names.get(target);
    if (name === undefined) {
      this.names.set(target, (name = `#/$defs/${this.names.size}`));
      this.targets.push([name, target]);
    }
    return name;
  }

  /** `outer`: patterns of the schemas around it that hold for the same value. */
  private convert(place: unknown, outer: readonly PatternProperty[] = []): PlainSchema {
    if (typeof place === 'boolean') return place;
    if (!isSchemaObject(place)) throw new NoValue('A part of it is neither an object nor a boolean.');
    // Draft 7 has tuples in `items` and the schema of further items in `additionalItems`.
    const { items, additionalItems = true, ...others } = place;
    const schema = Array.isArray(items) ? { ...others, prefixItems: items, items: additionalItems } : place;
    const own = this.convertPatterns(place);
    const held = [...outer, ...own, ...toList(place.allOf).flatMap((part) => this.convertPatterns(part))];
    spend(CONVERT_STEPS + held.length);
    const plain = Object.fromEntries(
      Object.entries(schema).flatMap(([keyword, value]) => this.convertKeyword(keyword, value, held)),
    );
    const reference = place.$ref ?? place.$dynamicRef;
    if (typeof reference === 'string') plain.$ref = this.defineTarget(reference);
    for (const [most, least] of MOST_AND_LEAST) {
      if (most in plain)
        plain[most] = Math.min(toNumber(plain[most], 0), toNumber(plain[least], 0) + MOST_BEYOND_LEAST);
    }
    // The limit of the draw is lower, and with `maxItems` json-schema-faker applies that limit to `minItems` too.
    if (toNumber(plain.maxItems, 0) >= MOST_ITEMS) delete plain.maxItems;
    const types = toTypes(plain.type);
    if (Array.isArray(plain.enum)) plain.enum = plain.enum.filter((value) => hasType(value, types));
    // json-schema-faker takes a Pattern for one without characters: `toPlainString` draws what matches it.
    if (typeof plain.pattern === 'string') plain.pattern = this.readPattern(plain.pattern);
    else delete plain.pattern;
    if ([plain.dependentRequired, plain.dependencies].flatMap(toEntries).length > MOST_DEPENDENT) {
      throw new NoValue(`More than ${MOST_DEPENDENT} properties of an object in it depend on others.`);
    }
    const settled = settlePatterns(plain, held);
    this.schemas.push(settled);
    if (held.length > 0) this.patterns.set(settled, held);
    return settled;
  }

  private convertKeyword(
    keyword: string,
    value: unknown,
    held: readonly PatternProperty[],
  ): readonly (readonly [keyword: string, value: unknown])[] {
    const convert = (part: unknown): PlainSchema => this.convert(part, IN_PLACE.includes(keyword) ? held : []);
    if (BRANCHES.includes(keyword) && toList(value).length > MOST_BRANCHES) {
      throw new TooMuchWork(
        `One \`${keyword}\` in it has more than ${MOST_BRANCHES} schemas, too many for the simulator.`,
      );
    }
    if (VALUES.includes(keyword)) return [[keyword, value]];
    if (SCHEMAS.includes(keyword)) return [[keyword, convert(value)]];
    if (LISTS.includes(keyword) && Array.isArray(value)) return [[keyword, value.map(convert)]];
    if (!MAPS.includes(keyword)) return [];
    const inner = toEntries(value).map(([name, part]) => [name, Array.isArray(part) ? part : convert(part)]);
    return [[keyword, Object.fromEntries(inner)]];
  }

  /** The `patternProperties` of a schema, converted once. */
  private convertPatterns(place: unknown): readonly PatternProperty[] {
    if (!isSchemaObject(place) || place.patternProperties === undefined) return [];
    let properties = this.converted.get(place.patternProperties);
    if (properties === undefined) {
      properties = toEntries(place.patternProperties).map(([source, part]) => [
        this.readPattern(source),
        this.convert(part),
      ]);
      this.converted.set(place.patternProperties, properties);
    }
    return properties;
  }

  /** Compiles a pattern: what is wrong with it is found before anything is drawn. */
  private readPattern(source: string): Pattern {
    if (!this.sources.has(source)) {
      this.sources.add(source);
      this.patternCharacters += source.length;
      if (this.patternCharacters > MOST_PATTERN_CHARACTERS) throw new NoValue('Its patterns are too long.');
      spend(COMPILE_STEPS * source.length);
    }
    return compilePattern(source);
  }
}

/** The schemas with an `$id`, and those with an anchor by `#` and its name. */
function listNamedSchemas(root: unknown): ReadonlyMap<string, unknown> {
  const named = new Map<string, unknown>();
  let level = [root];
  for (let levels = 1, parts = 1; level.length > 0; levels++, parts += level.length) {
    if (parts > MOST_PARTS) throw new NoValue('It is too large for the simulator.');
    if (levels > MOST_LEVELS) throw new NestsTooDeeply();
    for (const place of level.filter((part) => isSchemaObject(part))) {
      const { $id, $anchor, $dynamicAnchor } = place;
      if (typeof $id === 'string') named.set($id, place);
      for (const anchor of [$anchor, $dynamicAnchor]) if (typeof anchor === 'string') named.set(`#${anchor}`, place);
    }
    level = level.flatMap((place) => (isSchemaObject(place) ? Object.values(place) : toList(place)));
  }
  return named;
}

function resolveReference(reference: string, root: unknown, named: ReadonlyMap<string, unknown>): unknown {
  if (named.has(reference)) return named.get(reference);
  const [id = '', pointer = ''] = reference.split('#');
  let place = id === '' ? root : named.get(id);
  if (place === undefined) throw new NoValue(`The reference '${reference}' is outside of the schema.`);
  for (const encoded of pointer.split('/').slice(1)) {
    const segment = decodeURIComponent(encoded).replaceAll('~1', '/').replaceAll('~0', '~');
    place =
      typeof place === 'object' && place !== null && Object.hasOwn(place, segment)
        ? Reflect.get(place, segment)
        : undefined;
  }
  if (place === undefined || /^[^/]/.test(pointer)) throw new NoValue(`The reference '${reference}' has no target.`);
  return place;
}

function hasType(value: unknown, types: readonly string[] | undefined): boolean {
  if (types === undefined || (Number.isInteger(value) && types.includes('integer'))) return true;
  return types.includes(value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
}

/** Schemas that json-schema-faker merges at worst when it visits one: those of an `allOf`, and those within them. */
function countMerged({ definitions, schemas }: Pick<PlainDocument, 'definitions' | 'schemas'>): number {
  const counts = new Map<unknown, number>();
  let levels = 0;

  function count(schema: unknown): number {
    if (!isSchemaObject(schema)) return 1;
    const known = counts.get(schema);
    if (known !== undefined) return known;
    // Within itself it counts once: the depth of the draw ends it.
    counts.set(schema, 1);
    if (++levels > MOST_LEVELS) throw new NestsTooDeeply();
    const { $ref, allOf, not, if: condition, then: consequence, else: alternative } = schema;
    const all: unknown[] = [...toList(allOf), not, condition, consequence, alternative].filter(
      (inner) => inner !== undefined,
    );
    if (typeof $ref === 'string') all.push(definitions.get($ref));
    // Alternatives are tried one after the other, each in a visit of its own.
    const tried = listAlternatives(schema).map((list) => list.map(count).reduce((most, one) => Math.max(most, one), 1));
    const counted = [...tried, ...all.map(count)].reduce((sum, one) => sum + one, 1);
    counts.set(schema, counted);
    levels -= 1;
    return counted;
  }

  spend(SCHEMA_STEPS * schemas.length);
  return schemas.map(count).reduce((most, one) => Math.max(most, one), 1);
}
