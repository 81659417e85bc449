import type { SeededRandom } from '../seeded-random.js';
import type { SchemaObject } from './schema-parts.js';
import { listDependents } from './schema-members.js';
import { DeadEnd, isSchemaObject, toStrings } from './schema-parts.js';
import type { SchemaReferences } from './schema-references.js';

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
    private readonly references: SchemaReferences,
    readonly random: SeededRandom,
    private steps: number,
  ) {}

  /** Whether the schema was more than the steps allowed. */
  get isExhausted(): boolean {
    return this.steps <= 0;
  }

  /** The plain schemas a value must match. With `shallow`, alternatives that end soon are taken first. */
  flatten(schema: unknown, shallow: boolean, followed: ReadonlySet<unknown> = new Set()): readonly SchemaObject[] {
    if (this.steps-- <= 0) throw new DeadEnd('The schema is too large.');
    if (schema === true) return [];
    if (!isSchemaObject(schema)) throw new DeadEnd('Nothing is valid here.');

    const { $ref, $dynamicRef, allOf, anyOf, oneOf, not, ...others } = schema;
    const { if: condition, then: consequence, else: alternative, ...plain } = others;
    const parts: SchemaObject[] = [plain];
    const add = (inner: unknown): number => parts.push(...this.flatten(inner, shallow, followed));
    for (const reference of toStrings([$ref, $dynamicRef])) {
      const target = this.references.resolve(reference, schema);
      if (followed.has(target)) throw new DeadEnd(`The reference '${reference}' leads back to itself.`);
      parts.push(...this.flatten(target, shallow, new Set([...followed, target])));
    }
    if (Array.isArray(allOf)) allOf.forEach(add);
    if (not !== undefined) parts.push(...this.listNegated(not).map((negated) => ({ not: negated })));
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
    followed: ReadonlySet<unknown>,
  ): readonly SchemaObject[] {
    let reason: DeadEnd | undefined;
    for (const branch of this.orderBranches(branches, shallow)) {
      try {
        return this.flatten(branch, shallow, followed);
      } catch (error) {
        if (!(error instanceof DeadEnd) || this.isExhausted) throw error;
        reason = error;
      }
    }
    throw reason ?? new DeadEnd('A list of alternatives is empty.');
  }

  private orderBranches(branches: readonly unknown[], shallow: boolean): readonly unknown[] {
    const shuffled = this.random.shuffle(branches);
    if (!shallow) return shuffled;
    return shuffled
      .map((branch) => ({ branch, height: this.measureHeight(branch, MOST_LOOKAHEAD) }))
      .sort((one, other) => (one.height === other.height ? 0 : one.height - other.height))
      .map(({ branch }) => branch);
  }

  /** The parts, and whatever the properties that have to be there bring along. */
  addDependents(parts: readonly SchemaObject[], shallow: boolean): readonly SchemaObject[] {
    const all = [...parts];
    const brought = new Set<unknown>();
    // What is brought along may bring along more.
    for (let known = 0; known < all.length;) {
      known = all.length;
      for (const [name, dependent] of listDependents(all)) {
        if (brought.has(dependent) || !all.some(({ required }) => toStrings(required).includes(name))) continue;
        brought.add(dependent);
        if (Array.isArray(dependent)) all.push({ required: dependent });
        else all.push(...this.flatten(dependent, shallow));
      }
    }
    return all;
  }

  /** What a value must not be: each of these, without references and alternatives around them. */
  private listNegated(not: unknown): readonly unknown[] {
    if (this.steps-- <= 0) throw new DeadEnd('The schema is too large.');
    if (!isSchemaObject(not) || Object.keys(not).length !== 1) return [not];
    if (typeof not.$ref === 'string') return this.listNegated(this.references.resolve(not.$ref, not));
    return Array.isArray(not.anyOf) ? not.anyOf.flatMap((inner) => this.listNegated(inner)) : [not];
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
    if (typeof schema.$ref === 'string') heights.push(measure(this.resolveOrNothing(schema.$ref, schema)));
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

  private resolveOrNothing(reference: string, from: SchemaObject): unknown {
    try {
      return this.references.resolve(reference, from);
    } catch {
      return false;
    }
  }
}
