import type { SchemaFlattener } from './flatten-schema.js';
import { narrowNumber, narrowString } from './narrow-value.js';
import { listItemSchemas, listNames, listOptionalNames, listPropertySchemas, pickNewName } from './schema-members.js';
import type { MergedSchema, SchemaObject } from './schema-parts.js';
import { DeadEnd, mergeParts } from './schema-parts.js';
import type { SeededRandom } from '../seeded-random.js';

/** Below this level only what is required is made. */
const SHALLOW_FROM = 4;
const DEEPEST = 30;
const MOST_ITEMS = 1000;
const MOST_PROPERTIES = 5000;

/** A schema of one small family of values: no references, no alternatives, nothing optional, nothing unbounded. */
export type NarrowSchema = Record<string, unknown>;

/**
 * Narrows a schema down to where json-schema-faker can neither go astray nor run away: it fills in what is left, the
 * numbers, formats and patterns.
 */
export class SchemaNarrower {
  /** `optional` is how often, in a hundred, a property is made that need not be there. */
  constructor(
    private readonly flattener: SchemaFlattener,
    private readonly random: SeededRandom,
    private readonly optional: number,
  ) {}

  narrow(schema: unknown, depth = 0): NarrowSchema {
    if (depth > DEEPEST) throw new DeadEnd('The schema is too deep.');
    const merged = mergeParts(this.flattener.flatten(schema, this.isShallow(depth)));
    if (merged.values !== undefined) return { const: this.pickValue(merged.values, merged) };
    switch (this.pickType(merged, depth)) {
      case 'object':
        return this.narrowObject(merged, depth);
      case 'array':
        return this.narrowArray(merged, depth);
      case 'number':
        return narrowNumber(merged, 'number', this.random, this.optional > 0);
      case 'integer':
        return narrowNumber(merged, 'integer', this.random, this.optional > 0);
      case 'boolean':
        return { const: this.random.happens(50) };
      case 'null':
        return { const: null };
      default:
        return narrowString(merged, this.random);
    }
  }

  private isShallow(depth: number): boolean {
    return this.optional === 0 || depth >= SHALLOW_FROM;
  }

  private pickType({ types, excluded }: MergedSchema, depth: number): string {
    const possible = (types ?? ['string', 'integer']).filter((type) => !excluded.includes(type));
    if (possible.length === 0) throw new DeadEnd('No type is left for a value.');
    // Without a type any value will do, and a word is the plainest.
    if (types === undefined) return possible[0] as string;
    const simple = possible.filter((type) => type !== 'object' && type !== 'array');
    if (this.isShallow(depth) && simple.length > 0) return this.random.pick(simple);
    const telling = possible.filter((type) => type !== 'null');
    return this.random.pick(telling.length > 0 && this.random.happens(75) ? telling : possible);
  }

  private pickValue(values: readonly unknown[], { types }: MergedSchema): unknown {
    const possible = types === undefined ? values : values.filter((value) => types.includes(typeOf(value, types)));
    if (possible.length === 0) throw new DeadEnd('No value is left to choose from.');
    return this.random.pick(possible);
  }

  private narrowArray(merged: MergedSchema, depth: number): NarrowSchema {
    const { minItems = 0, maxItems = Infinity, minContains = 1 } = merged.bounds;
    const contained = merged.parts.flatMap(({ contains }) =>
      contains === undefined ? [] : Array<unknown>(Math.min(minContains, MOST_ITEMS)).fill(contains),
    );
    const least = Math.max(minItems, contained.length);
    if (least > Math.min(maxItems, MOST_ITEMS)) throw new DeadEnd('The list is too long.');
    const wanted = this.isShallow(depth) ? least : Math.max(least, this.random.pickInteger(1, 3));
    const unique = merged.parts.some(({ uniqueItems }) => uniqueItems === true);

    const items: NarrowSchema[] = [];
    const seen = new Set<string>();
    for (let tries = 0; items.length < Math.min(wanted, maxItems) && tries < 2 * MOST_ITEMS; tries++) {
      const index = items.length;
      const item = this.narrowItem(merged.parts, index, contained[index], depth);
      if (item === undefined) break;
      const text = JSON.stringify(item);
      if (unique && 'const' in item && seen.has(text)) continue;
      seen.add(text);
      items.push(item);
    }
    if (items.length < least) throw new DeadEnd('A list has too few different items.');
    return { type: 'array', prefixItems: items, minItems: items.length, maxItems: items.length, uniqueItems: unique };
  }

  /** The schema of the item at an index; undefined where the list has to end before it. */
  private narrowItem(
    parts: readonly SchemaObject[],
    index: number,
    contained: unknown,
    depth: number,
  ): NarrowSchema | undefined {
    const schemas = listItemSchemas(parts, index);
    if (schemas.includes(false)) return undefined;
    return this.narrow({ allOf: contained === undefined ? schemas : [...schemas, contained] }, depth + 1);
  }

  private narrowObject(merged: MergedSchema, depth: number): NarrowSchema {
    const { minProperties = 0, maxProperties = Infinity } = merged.bounds;
    if (minProperties > MOST_PROPERTIES) throw new DeadEnd('The object is too large.');
    const properties = new Map<string, NarrowSchema>();
    for (const name of merged.required) properties.set(name, this.narrowProperty(merged.parts, name, depth));

    for (const name of this.random.shuffle(listOptionalNames(merged))) {
      if (properties.size >= maxProperties) break;
      if (properties.size >= minProperties && (this.isShallow(depth) || !this.random.happens(this.optional))) continue;
      try {
        properties.set(name, this.narrowProperty(merged.parts, name, depth));
      } catch (error) {
        // What need not be there is left out where it cannot be made.
        if (!(error instanceof DeadEnd) || this.flattener.isExhausted) throw error;
      }
    }
    for (let tries = 0; properties.size < minProperties && tries < 2 * MOST_PROPERTIES; tries++) {
      const name = pickNewName(merged, this.random, tries);
      if (!properties.has(name)) properties.set(name, this.narrowProperty(merged.parts, name, depth));
    }
    if (properties.size < minProperties) throw new DeadEnd('An object has too few properties.');
    // In the order of the schema, as models write them.
    const declared = [...merged.parts.flatMap(listNames), ...properties.keys()];
    const ordered = new Map(declared.flatMap((name) => (properties.has(name) ? [[name, properties.get(name)]] : [])));
    return {
      type: 'object',
      properties: Object.fromEntries(ordered),
      required: [...ordered.keys()],
      additionalProperties: false,
    };
  }

  private narrowProperty(parts: readonly SchemaObject[], name: string, depth: number): NarrowSchema {
    return this.narrow({ allOf: listPropertySchemas(parts, name) }, depth + 1);
  }
}

function typeOf(value: unknown, types: readonly string[]): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value) && types.includes('integer')) return 'integer';
  return typeof value;
}
