import type { SeededRandom } from '../seeded-random.js';
import { spend } from '../work.js';
import type { WorkCounter } from './count-work.js';
import { drawValue, REQUIRED_ONLY } from './draw-value.js';
import {
  joinSchemas,
  matchPatterns,
  type PatternProperty,
  type PlainDocument,
  type PlainSchema,
} from './plain-document.js';
import {
  isSchemaObject,
  listAlternatives,
  NoValue,
  type SchemaObject,
  toEntries,
  toList,
  toNumber,
  toStrings,
  toTypes,
} from './schema-parts.js';

/** Maximum number of subschemas to narrow for one value. */
const MOST_STEPS = 5000;
const MOST_NAMES = 1000;
/** Steps of work to narrow a schema, and for each branch, name or pattern in it. */
const NARROW_STEPS = 50;
const PART_STEPS = 10;

/**
 * Narrows a schema to one branch with small values, for schemas that exceed the depth limit of json-schema-faker or whose
 * property names it does not find. Inlines references, picks one branch of each list, and adds names of properties.
 */
export class SchemaNarrower {
  private steps = MOST_STEPS;

  /** `smallestFirst` picks the branch with the smallest value, otherwise a random one. */
  constructor(
    private readonly document: PlainDocument,
    private readonly counter: WorkCounter,
    private readonly random: SeededRandom,
    private readonly smallestFirst: boolean,
  ) {}

  /** A schema whose values match the given one, unless its parts contradict each other. Throws NoValue. */
  narrow(schema: unknown): PlainSchema {
    if (this.steps-- <= 0) throw new NoValue('It is too large for the simulator.');
    if (!isSchemaObject(schema)) return schema as boolean;
    spend(NARROW_STEPS);
    const { $ref, allOf, anyOf: _anyOf, oneOf: _oneOf, ...plain } = schema;
    const lists = listAlternatives(schema);
    const all = [
      ...(typeof $ref === 'string' ? [this.document.definitions.get($ref)] : []),
      ...toList(allOf),
      ...lists.map((list) => this.pickBranch(list)),
    ];
    const narrowed = this.narrowParts(plain, this.document.patterns.get(schema) ?? []);
    return all.length === 0 ? narrowed : { ...narrowed, allOf: all.map((inner) => this.narrow(inner)) };
  }

  private pickBranch(branches: readonly unknown[]): unknown {
    spend(PART_STEPS * branches.length);
    const sized = this.random
      .shuffle(branches)
      .map((branch) => ({ branch, size: this.counter.countSmallest(branch as PlainSchema) }))
      .filter(({ size }) => size < Infinity);
    if (this.smallestFirst) sized.sort((one, other) => one.size - other.size);
    if (sized[0] === undefined) throw new NoValue('A list of alternatives in it allows no value.');
    return sized[0].branch;
  }

  private narrowParts(schema: SchemaObject, patterns: readonly PatternProperty[]): SchemaObject {
    const narrowed: Record<string, unknown> = { ...schema };
    const simple = toTypes(schema.type)?.filter((type) => type !== 'object' && type !== 'array') ?? [];
    if (this.smallestFirst && simple.length > 0) narrowed.type = simple;
    if (toNumber(schema.minItems, 0) > 0) {
      narrowed.prefixItems = toList(schema.prefixItems).map((inner) => this.narrow(inner));
      narrowed.items = this.narrow(schema.items ?? true);
      // With `maxItems`, json-schema-faker applies its own limit to `minItems` too.
      delete narrowed.maxItems;
    }
    const required = this.listRequired(schema, patterns);
    if (required.length === 0) return narrowed;
    const properties = new Map(toEntries(schema.properties));
    spend(PART_STEPS * (required.length + properties.size));
    for (const name of required) {
      const matching = properties.has(name) ? [] : matchPatterns(patterns, name);
      if (matching.length > 0) properties.set(name, joinSchemas(matching));
      if (properties.has(name)) properties.set(name, this.narrow(properties.get(name)));
    }
    const { additionalProperties } = schema;
    if (additionalProperties !== undefined && required.some((name) => !properties.has(name))) {
      narrowed.additionalProperties = this.narrow(additionalProperties);
    }
    return { ...narrowed, required, properties: Object.fromEntries(properties) };
  }

  /** The required names, plus others up to `minProperties`. */
  private listRequired(schema: SchemaObject, patterns: readonly PatternProperty[]): readonly string[] {
    const least = Math.min(toNumber(schema.minProperties, 0), MOST_NAMES);
    const names = new Set(toStrings(schema.required));
    spend(PART_STEPS * toEntries(schema.properties).length);
    for (const [name, inner] of this.random.shuffle(toEntries(schema.properties))) {
      if (names.size < least && this.counter.countSmallest(inner as PlainSchema) < Infinity) names.add(name);
    }
    for (let tries = 0; names.size < least && tries < 2 * MOST_NAMES; tries++) {
      const pattern = patterns.length > 0 ? [{ pattern: this.random.pick(patterns)[0] }] : [];
      const rules = [schema.propertyNames ?? true, ...pattern];
      names.add(String(drawValue({ type: 'string', allOf: rules }, this.document, REQUIRED_ONLY, this.random)));
    }
    return [...names];
  }
}
