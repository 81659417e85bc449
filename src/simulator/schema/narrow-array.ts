import type { NarrowSchema } from './fill-schema.js';
import type { MergedSchema } from './merge-parts.js';
import type { Narrower } from './narrower.js';
import { listItemSchemas } from './schema-members.js';
import type { SchemaObject } from './schema-parts.js';
import { DeadEnd } from './schema-parts.js';

const MOST_ITEMS = 1000;

/** How many items of a kind there have to be, and may be. */
interface ContainsRule {
  readonly kind: unknown;
  readonly least: number;
  readonly most: number;
}

/** A list of certain items: how many is decided here. */
export function narrowArray(merged: MergedSchema, depth: number, narrower: Narrower): NarrowSchema {
  const { minItems = 0, maxItems = Infinity } = merged.bounds;
  const rules = merged.parts.flatMap(listContainsRules);
  const contained = rules.flatMap(({ kind, least }) => Array<unknown>(Math.min(least, MOST_ITEMS)).fill(kind));
  const least = Math.max(minItems, contained.length);
  if (least > Math.min(maxItems, MOST_ITEMS)) throw new DeadEnd('The list is too long.');
  const wanted = narrower.isShallow(depth) ? least : Math.max(least, narrower.random.pickInteger(1, 3));
  const unique = merged.parts.some(({ uniqueItems }) => uniqueItems === true);

  const limited = rules.filter(({ most }) => most < Infinity);
  const others = limited.map(({ kind }) => ({ not: kind }));
  let spare = Math.min(...limited.map(({ least: needed, most }) => most - needed));
  const items: NarrowSchema[] = [];
  const seen = new Set<string>();
  for (let tries = 0; items.length < Math.min(wanted, maxItems) && tries < 2 * MOST_ITEMS; tries++) {
    const schemas = listItemSchemas(merged.parts, items.length);
    if (schemas.includes(false)) break;
    let item: NarrowSchema | undefined;
    if (items.length < contained.length) {
      item = narrower.narrow({ allOf: [...schemas, contained[items.length]] }, depth + 1);
    } else if (limited.length > 0) {
      item = narrower.tryToNarrow({ allOf: [...schemas, ...others] }, depth + 1);
      // One more of the kind where only that kind is allowed.
      if (item === undefined && spare-- <= 0) break;
    }
    item ??= narrower.narrow({ allOf: schemas }, depth + 1);
    const text = JSON.stringify(item);
    if (unique && 'const' in item && seen.has(text)) continue;
    seen.add(text);
    items.push(item);
  }
  if (items.length < least) throw new DeadEnd('A list has too few different items.');
  return { type: 'array', prefixItems: items, minItems: items.length, maxItems: items.length, uniqueItems: unique };
}

function listContainsRules({ contains, minContains, maxContains }: SchemaObject): readonly ContainsRule[] {
  if (contains === undefined) return [];
  return [{ kind: contains, least: toCount(minContains, 1), most: toCount(maxContains, Infinity) }];
}

function toCount(value: unknown, usual: number): number {
  return typeof value === 'number' && value >= 0 ? value : usual;
}
