import type { SeededRandom } from '../seeded-random.js';
import type { SchemaObject } from './schema-parts.js';
import { DeadEnd, isSchemaObject, toStrings } from './schema-parts.js';

/** How far ahead a branch is looked into for a way to an end. */
const MOST_LOOKAHEAD = 6;

/**
 * Follows the references of one schema document and takes one of each list of alternatives, so that what is left are
 * plain schemas that all hold at once. Only references within the document are known: nothing is ever fetched.
 */
export class SchemaFlattener {
  private readonly heights = new Map<SchemaObject, Map<number, number>>();

  /** `steps` bounds the work; past it everything is a dead end. */
  constructor(
    private readonly root: unknown,
    readonly random: SeededRandom,
    private steps: number,
  ) {}

  /** Whether the schema was more than the steps allowed. */
  get isExhausted(): boolean {
    return this.steps <= 0;
  }

  /** The plain schemas a value must match. With `shallow`, alternatives that end soon are taken first. */
  flatten(schema: unknown, shallow: boolean, followed: ReadonlySet<string> = new Set()): readonly SchemaObject[] {
    if (this.steps-- <= 0) throw new DeadEnd('The schema is too large.');
    if (schema === true) return [];
    if (!isSchemaObject(schema)) throw new DeadEnd('Nothing is valid here.');

    const { $ref, allOf, anyOf, oneOf, if: condition, then: consequence, else: alternative, ...plain } = schema;
    const parts: SchemaObject[] = [plain];
    const add = (inner: unknown): number => parts.push(...this.flatten(inner, shallow, followed));
    if (typeof $ref === 'string') {
      if (followed.has($ref)) throw new DeadEnd(`The reference '${$ref}' leads back to itself.`);
      parts.push(...this.flatten(this.resolve($ref), shallow, new Set([...followed, $ref])));
    }
    if (Array.isArray(allOf)) allOf.forEach(add);
    for (const branches of [anyOf, oneOf]) {
      if (Array.isArray(branches)) parts.push(...this.flattenOneOf(branches, shallow, followed));
    }
    if (condition !== undefined) {
      if (this.random.happens(50)) [condition, consequence ?? true].forEach(add);
      else add(alternative ?? true);
    }
    return this.addDependents(parts, shallow);
  }

  private flattenOneOf(
    branches: readonly unknown[],
    shallow: boolean,
    followed: ReadonlySet<string>,
  ): readonly SchemaObject[] {
    let reason: unknown = new DeadEnd('A list of alternatives is empty.');
    for (const branch of this.orderBranches(branches, shallow)) {
      try {
        return this.flatten(branch, shallow, followed);
      } catch (error) {
        if (!(error instanceof DeadEnd) || this.isExhausted) throw error;
        reason = error;
      }
    }
    throw reason;
  }

  private orderBranches(branches: readonly unknown[], shallow: boolean): readonly unknown[] {
    const shuffled = this.random.shuffle(branches);
    if (!shallow) return shuffled;
    return shuffled
      .map((branch) => ({ branch, height: this.measureHeight(branch, MOST_LOOKAHEAD) }))
      .sort((one, other) => (one.height === other.height ? 0 : one.height - other.height))
      .map(({ branch }) => branch);
  }

  /** What a property brings along when it is there: `dependentSchemas`, and `dependentRequired` by its other names. */
  private addDependents(parts: readonly SchemaObject[], shallow: boolean): readonly SchemaObject[] {
    const all = [...parts];
    for (const part of parts) {
      for (const dependents of [part.dependentSchemas, part.dependentRequired, part.dependencies]) {
        if (!isSchemaObject(dependents)) continue;
        for (const [name, dependent] of Object.entries(dependents)) {
          if (!all.some(({ required }) => toStrings(required).includes(name))) continue;
          if (Array.isArray(dependent)) all.push({ required: dependent });
          else all.push(...this.flatten(dependent, shallow));
        }
      }
    }
    return all;
  }

  /** How many levels the smallest value has; Infinity when it has more than `limit`. */
  private measureHeight(schema: unknown, limit: number): number {
    if (!isSchemaObject(schema)) return schema === true ? 0 : Infinity;
    if (limit === 0 || this.steps-- <= 0) return Infinity;
    let known = this.heights.get(schema);
    if (known === undefined) this.heights.set(schema, (known = new Map<number, number>()));
    let height = known.get(limit);
    if (height === undefined) known.set(limit, (height = this.measureAnew(schema, limit)));
    return height;
  }

  private measureAnew(schema: SchemaObject, limit: number): number {
    const measure = (inner: unknown): number => this.measureHeight(inner, limit - 1);
    const heights = [0];
    if (typeof schema.$ref === 'string') heights.push(measure(this.resolveOrNothing(schema.$ref)));
    if (Array.isArray(schema.allOf)) heights.push(...schema.allOf.map(measure));
    for (const branches of [schema.anyOf, schema.oneOf]) {
      if (Array.isArray(branches)) heights.push(Math.min(...branches.map(measure)));
    }
    const { properties } = schema;
    if (isSchemaObject(properties)) {
      heights.push(...toStrings(schema.required).map((name) => 1 + measure(properties[name] ?? true)));
    }
    if (typeof schema.minItems === 'number' && schema.minItems > 0) heights.push(1 + measure(schema.items ?? true));
    return Math.max(...heights);
  }

  private resolveOrNothing(reference: string): unknown {
    try {
      return this.resolve(reference);
    } catch {
      return false;
    }
  }

  /** RFC 6901, within the document. */
  private resolve(reference: string): unknown {
    if (!/^#(\/|$)/.test(reference)) throw new DeadEnd(`The reference '${reference}' leads out of the schema.`);
    let place: unknown = this.root;
    for (const segment of decodePointer(reference)) {
      if (typeof place !== 'object' || place === null || !Object.hasOwn(place, segment)) {
        throw new DeadEnd(`The reference '${reference}' leads nowhere.`);
      }
      place = (place as SchemaObject)[segment];
    }
    return place;
  }
}

function decodePointer(reference: string): readonly string[] {
  let pointer = reference.slice(1);
  try {
    pointer = decodeURIComponent(pointer);
  } catch {
    // Not an encoded one then.
  }
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
