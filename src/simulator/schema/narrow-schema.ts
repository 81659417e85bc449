import type { SeededRandom } from '../seeded-random.js';
import type { WorkCounter } from './count-work.js';
import { drawValue, REQUIRED_ONLY } from './draw-value.js';
import type { PlainDocument, PlainSchema } from './plain-schema.js';
import {
  isSchemaObject,
  listAlternatives,
  NoValue,
  toEntries,
  toList,
  toNumber,
  toStrings,
  toTypes,
} from './schema-parts.js';
import type { SchemaObject } from './schema-parts.js';

/** Maximum number of subschemas to narrow for one value. */
const MOST_STEPS = 5000;
const MOST_NAMES = 1000;

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
    const { $ref, allOf, anyOf: _anyOf, oneOf: _oneOf, ...plain } = schema;
    const lists = listAlternatives(schema);
    const all = [
      ...(typeof $ref === 'string' ? [this.document.definitions.get($ref)] : []),
      ...toList(allOf),
      ...lists.map((list) => this.pickBranch(list)),
    ];
    const narrowed = this.narrowParts(plain);
    return all.length === 0 ? narrowed : { ...narrowed, allOf: all.map((inner) => this.narrow(inner)) };
  }

  private pickBranch(branches: readonly unknown[]): unknown {
    const sized = this.random
      .shuffle(branches)
      .map((branch) => ({ branch, size: this.counter.countSmallest(branch as PlainSchema) }))
      .filter(({ size }) => size < Infinity);
    if (this.smallestFirst) sized.sort((one, other) => one.size - other.size);
    if (sized[0] === undefined) throw new NoValue('A list of alternatives in it allows no value.');
    return sized[0].branch;
  }

  private narrowParts(schema: SchemaObject): SchemaObject {
    const narrowed: Record<string, unknown> = { ...schema };
    const simple = toTypes(schema.type)?.filter((type) => type !== 'object' && type !== 'array') ?? [];
    if (this.smallestFirst && simple.length > 0) narrowed.type = simple;
    if (toNumber(schema.minItems, 0) > 0) {
      narrowed.prefixItems = toList(schema.prefixItems).map((inner) => this.narrow(inner));
      narrowed.items = this.narrow(schema.items ?? true);
      // With `maxItems`, json-schema-faker applies its own limit to `minItems` too.
      delete narrowed.maxItems;
    }
    const required = this.listRequired(schema);
    if (required.length === 0) return narrowed;
    const properties = new Map(toEntries(schema.properties));
    for (const name of required) if (properties.has(name)) properties.set(name, this.narrow(properties.get(name)));
    if (required.some((name) => !properties.has(name))) {
      const { additionalProperties, patternProperties } = schema;
      if (additionalProperties !== undefined) narrowed.additionalProperties = this.narrow(additionalProperties);
      const patterns = toEntries(patternProperties).map(([pattern, inner]) => [pattern, this.narrow(inner)]);
      narrowed.patternProperties = Object.fromEntries(patterns);
    }
    return { ...narrowed, required, properties: Object.fromEntries(properties) };
  }

  /** The required names, plus others up to `minProperties`. */
  private listRequired(schema: SchemaObject): readonly string[] {
    const least = Math.min(toNumber(schema.minProperties, 0), MOST_NAMES);
    const names = new Set(toStrings(schema.required));
    for (const [name, inner] of this.random.shuffle(toEntries(schema.properties))) {
      if (names.size < least && this.counter.countSmallest(inner as PlainSchema) < Infinity) names.add(name);
    }
    const patterns = toEntries(schema.patternProperties).map(([pattern]) => ({ pattern }));
    for (let tries = 0; names.size < least && tries < 2 * MOST_NAMES; tries++) {
      const rules = [schema.propertyNames ?? true, ...(patterns.length > 0 ? [this.random.pick(patterns)] : [])];
      names.add(String(drawValue({ type: 'string', allOf: rules }, this.document, REQUIRED_ONLY, this.random)));
    }
    return [...names];
  }
}
