import type { NarrowSchema } from './fill-schema.js';
import type { SchemaFlattener } from './flatten-schema.js';
import type { MergedSchema } from './merge-parts.js';
import { mergeParts } from './merge-parts.js';
import { narrowArray } from './narrow-array.js';
import { narrowObject } from './narrow-object.js';
import { narrowNumber, narrowString } from './narrow-value.js';
import type { Narrower } from './narrower.js';
import { isExcluded } from './schema-exclusions.js';
import { DeadEnd } from './schema-parts.js';
import type { SeededRandom } from '../seeded-random.js';

/** Below this level only what is required is made. */
const SHALLOW_FROM = 4;
const DEEPEST = 30;
/** How often another value is taken for one that is excluded. */
const MOST_TRIES = 20;
/** How often alternatives are taken until they go together. */
const MOST_MERGES = 5;
/** What a value without a type may be, the plainest first. */
const ALL_TYPES = ['string', 'integer', 'boolean', 'null', 'array', 'object'];

/**
 * Narrows a schema down to where json-schema-faker can neither go astray nor run away: it fills in what is left, the
 * numbers, formats and patterns.
 */
export class SchemaNarrower implements Narrower {
  /** `optional` is how often, in a hundred, a property is made that need not be there. */
  constructor(
    readonly flattener: SchemaFlattener,
    readonly random: SeededRandom,
    private readonly optional: number,
  ) {}

  narrow(schema: unknown, depth = 0): NarrowSchema {
    if (depth > DEEPEST) throw new DeadEnd('The schema is too deep.');
    const merged = this.merge(schema, depth);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const narrowed = this.narrowMerged(merged, depth);
      if (!('const' in narrowed) || !isExcluded(narrowed.const, merged.excluded)) return narrowed;
    }
    throw new DeadEnd('Only values that are excluded were found.');
  }

  tryToNarrow(schema: unknown, depth: number): NarrowSchema | undefined {
    return this.attempt(() => this.narrow(schema, depth));
  }

  attempt<T>(make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof DeadEnd) || this.flattener.isExhausted) throw error;
      return undefined;
    }
  }

  isShallow(depth: number): boolean {
    return this.optional === 0 || depth >= SHALLOW_FROM;
  }

  takesOptional(depth: number): boolean {
    return !this.isShallow(depth) && this.random.happens(this.optional);
  }

  /** Takes other alternatives where those taken contradict each other. */
  private merge(schema: unknown, depth: number): MergedSchema {
    let merged: MergedSchema;
    let tries = 0;
    do merged = mergeParts(this.flattener.flatten(schema, this.isShallow(depth)));
    while (listPossibleTypes(merged).length === 0 && ++tries < MOST_MERGES);
    return merged;
  }

  private narrowMerged(merged: MergedSchema, depth: number): NarrowSchema {
    if (merged.values !== undefined) return { const: this.pickValue(merged.values, merged) };
    switch (this.pickType(merged, depth)) {
      case 'object':
        return narrowObject(merged, depth, this);
      case 'array':
        return narrowArray(merged, depth, this);
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

  private pickType(merged: MergedSchema, depth: number): string {
    const { types, excluded } = merged;
    const allowed = listPossibleTypes(merged);
    if (allowed.length === 0) throw new DeadEnd('No type is left for a value.');
    const safe = allowed.filter((type) => !excluded.riskyTypes.includes(type));
    const possible = safe.length > 0 ? safe : allowed;
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
}

function listPossibleTypes({ types, excluded }: MergedSchema): readonly string[] {
  return (types ?? ALL_TYPES).filter((type) => !excluded.types.includes(type));
}

function typeOf(value: unknown, types: readonly string[]): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value) && types.includes('integer')) return 'integer';
  return typeof value;
}
