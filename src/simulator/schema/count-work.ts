import { Pattern } from '../pattern/pattern.js';
import { spend } from '../work.js';
import { type DrawSettings, REQUIRED_ONLY } from './draw-value.js';
import type { PlainDocument, PlainSchema } from './plain-document.js';
import {
  countValues,
  isSchemaObject,
  listAlternatives,
  MOST_LEVELS,
  NestsTooDeeply,
  type SchemaObject,
  toEntries,
  toList,
  toNumber,
  toStrings,
  toTypes,
} from './schema-parts.js';

/** Steps to count a schema, and each schema or name in it. */
const COUNT_STEPS = 50;
const PART_STEPS = 10;

/** Ajv passes over five entries in the time of a schema. */
const ENTRY_CHECKS = 0.2;

/** What to count: every branch or only the smallest one, and optional members. */
interface CountSettings extends DrawSettings {
  readonly smallest?: boolean;
}

const SMALLEST: CountSettings = { ...REQUIRED_ONLY, smallest: true };

/** Estimates the work of drawing and checking values of a schema, in time linear in its size. */
export class WorkCounter {
  private readonly values = new Map<string, Memory>();
  private readonly checks = new Memory();

  constructor(private readonly document: PlainDocument) {}

  /** Parts of the smallest value, estimated from required properties and lengths. Infinity: there is no value. */
  countSmallest(schema: PlainSchema): number {
    return this.count(schema, SMALLEST.depth, SMALLEST);
  }

  /** Parts that json-schema-faker draws at worst, if it tries every branch. */
  countDraws(schema: PlainSchema, settings: DrawSettings): number {
    return this.count(schema, settings.depth, settings);
  }

  private count(schema: unknown, depth: number, settings: CountSettings): number {
    const { smallest = false, optionals, items: mostItems } = settings;
    if (!isSchemaObject(schema)) return schema === false && smallest ? Infinity : 1;
    if ('const' in schema || 'enum' in schema) return 1;
    const types = toTypes(schema.type);
    if (smallest && types?.some((type) => type === 'null' || type === 'boolean') === true) return 1;
    if (smallest && depth === 0) return Infinity;
    const key = `${String(smallest)} ${optionals > 0 ? 1 : 0} ${mostItems}`;
    let memory = this.values.get(key);
    if (memory === undefined) this.values.set(key, (memory = new Memory()));
    return memory.recall(schema, depth, () => {
      const here = (inner: unknown): number => this.count(inner, depth, settings);
      const below = (inner: unknown): number => this.count(inner, Math.max(0, depth - 1), settings);
      const lists = listAlternatives(schema);
      const own = 1 + measureString(schema) + sum(this.listReferences(schema).map(below));
      const branches = smallest
        ? [...toList(schema.allOf).map(here), ...lists.map((list) => smallestOf(list.map(here)))]
        : // If all fail, the first one is tried again.
          [...listBranches(schema), ...lists.flatMap((list) => list.slice(0, 1))].map(here);
      const minItems = toNumber(schema.minItems, 0);
      if (depth === 0) return own + sum(branches) + minItems;
      const tuple = toList(schema.prefixItems).slice(0, Math.max(minItems, mostItems));
      const items = Math.max(minItems, Math.min(mostItems, toNumber(schema.maxItems, Infinity))) - tuple.length;
      const names = optionals > 0 ? toEntries(schema.properties).map(([name]) => name) : toStrings(schema.required);
      const members = [...names.map((name) => memberSchema(schema, name)), ...tuple].map(below);
      spend(PART_STEPS * (branches.length + members.length));
      const invented = sum([1, ...(smallest ? [] : [below(schema.additionalProperties ?? true)])]);
      const more = times(toNumber(schema.minProperties, 0) - names.length, invented);
      const contained = toNumber(schema.maxContains, toNumber(schema.minContains, 1));
      const found = schema.contains === undefined || smallest ? 0 : times(contained, below(schema.contains));
      return own + sum(branches) + sum(members) + more + found + times(items, below(schema.items ?? true));
    });
  }

  /**
   * Schemas that Ajv evaluates at worst to check a value; five entries of a list or map count as much as one. Infinity: a reference
   * refers to itself.
   */
  countChecks(schema: PlainSchema, value: unknown): number {
    if (!isSchemaObject(schema)) return 1;
    return this.checks.recall(schema, value, () => {
      const count = (inner: unknown, part: unknown): number => this.countChecks(inner as PlainSchema, part);
      const here = [...this.listReferences(schema), ...listBranches(schema)].map((inner) => count(inner, value));
      const parts: number[] = [];
      if (Array.isArray(value)) {
        for (const [index, item] of value.entries()) {
          for (const inner of [toList(schema.prefixItems)[index], schema.items, schema.contains]) {
            if (inner !== undefined) parts.push(count(inner, item));
          }
        }
      }
      const patterns = this.document.patterns.get(schema) ?? [];
      for (const [name, part] of toEntries(value)) {
        // A declared property may match a pattern too.
        const inner = new Set([memberSchema(schema, name), ...patterns.map(([, member]) => member)]);
        for (const member of inner) parts.push(count(member, part));
        if (schema.propertyNames !== undefined) parts.push(count(schema.propertyNames, name));
        spend(PART_STEPS * inner.size);
      }
      return 1 + sum(here) + sum(parts) + ENTRY_CHECKS * countEntries(schema, value);
    });
  }

  private listReferences({ $ref }: SchemaObject): readonly unknown[] {
    return typeof $ref === 'string' ? [this.document.definitions.get($ref)] : [];
  }
}

/** Caches counts. A schema that contains itself counts as Infinity within itself. */
class Memory {
  private readonly counts = new Map<SchemaObject, Map<unknown, number>>();
  private levels = 0;

  recall(schema: SchemaObject, key: unknown, count: () => number): number {
    let known = this.counts.get(schema);
    if (known === undefined) this.counts.set(schema, (known = new Map<unknown, number>()));
    let counted = known.get(key);
    if (counted === undefined) {
      spend(COUNT_STEPS);
      known.set(key, Infinity);
      if (++this.levels > MOST_LEVELS) throw new NestsTooDeeply();
      known.set(key, (counted = count()));
      this.levels -= 1;
    }
    return counted;
  }
}

/** The minimum characters of a string, roughly: a pattern that allows the length has it. */
function measureString({ minLength, pattern }: SchemaObject): number {
  return Math.max(toNumber(minLength, 0), pattern instanceof Pattern ? pattern.shortest : 0);
}

/** Subschemas that apply to the same value. */
function listBranches(schema: SchemaObject): readonly unknown[] {
  const { not, if: condition, then: consequence, else: alternative } = schema;
  return [
    ...[schema.allOf, schema.anyOf, schema.oneOf].flatMap(toList),
    ...[not, condition, consequence, alternative].filter((inner) => inner !== undefined),
    ...toEntries(schema.dependentSchemas).map(([, inner]) => inner),
  ];
}

/** The schema of a property that is declared or, like those that match no pattern, an additional one. */
function memberSchema({ properties, additionalProperties }: SchemaObject, name: string): unknown {
  if (isSchemaObject(properties) && Object.hasOwn(properties, name)) return properties[name];
  return additionalProperties ?? true;
}

/** Entries of lists and maps that Ajv compares with a value or its parts. */
function countEntries(schema: SchemaObject, value: unknown): number {
  const { properties, required, dependentRequired, enum: listed, const: single, uniqueItems, items } = schema;
  const names = isSchemaObject(value) ? countValues([properties, required, dependentRequired], 2) : 0;
  const compared = listed === undefined && single === undefined ? 0 : countValues([listed, single]);
  if (uniqueItems !== true || !Array.isArray(value)) return names + compared;
  // Ajv keeps a table of simple values; it compares each other value with each other one.
  const types = isSchemaObject(items) ? toTypes(items.type) : undefined;
  const isSimple = types?.every((type) => type !== 'object' && type !== 'array') === true;
  return names + compared + (isSimple ? value.length : value.length * countValues(value));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}

function smallestOf(counts: readonly number[]): number {
  return counts.reduce((smallest, count) => Math.min(smallest, count), Infinity);
}

/** Multiplies, but 0 times Infinity is 0. */
function times(count: number, each: number): number {
  return count <= 0 ? 0 : count * each;
}
