import type { NarrowSchema } from './fill-schema.js';
import type { MergedSchema } from './merge-parts.js';
import { mergeParts } from './merge-parts.js';
import type { Narrower } from './narrower.js';
import { makeName } from './property-names.js';
import { listNames, listOptionalNames, listPropertySchemas, listTriggers } from './schema-members.js';
import { DeadEnd } from './schema-parts.js';

const MOST_PROPERTIES = 5000;

/** An object of certain properties: which ones is decided here. */
export function narrowObject(plain: MergedSchema, depth: number, narrower: Narrower): NarrowSchema {
  const merged = addTriggers(plain, depth, narrower);
  const { minProperties = 0, maxProperties = Infinity } = merged.bounds;
  if (minProperties > MOST_PROPERTIES) throw new DeadEnd('The object is too large.');
  const schemaOf = (name: string): unknown => ({ allOf: listPropertySchemas(merged.parts, name) });
  const properties = new Map<string, NarrowSchema>();
  for (const name of merged.required) properties.set(name, narrower.narrow(schemaOf(name), depth + 1));

  for (const name of narrower.random.shuffle(listOptionalNames(merged))) {
    if (properties.size >= maxProperties) break;
    if (properties.size >= minProperties && !narrower.takesOptional(depth)) continue;
    // What need not be there is left out where it cannot be made.
    const property = narrower.tryToNarrow(schemaOf(name), depth + 1);
    if (property !== undefined) properties.set(name, property);
  }
  while (properties.size < minProperties) {
    const name = makeName(merged, properties, narrower.flattener);
    properties.set(name, narrower.narrow(schemaOf(name), depth + 1));
  }
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

/**
 * Requires some of the properties that bring others along, and all they bring. That comes first, as it may change what
 * is asked of any other property.
 */
function addTriggers(plain: MergedSchema, depth: number, narrower: Narrower): MergedSchema {
  let merged = plain;
  for (const name of narrower.random.shuffle(listTriggers(plain))) {
    if (merged.required.includes(name)) continue;
    const { minProperties = 0, maxProperties = Infinity } = merged.bounds;
    const isEnough = merged.required.length + listOptionalNames(merged).length >= minProperties;
    if (isEnough && !narrower.takesOptional(depth)) continue;
    const parts = [...merged.parts, { required: [name] }];
    const extended = narrower.attempt(() =>
      mergeParts(narrower.flattener.addDependents(parts, narrower.isShallow(depth))),
    );
    if (extended !== undefined && extended.required.length <= maxProperties) merged = extended;
  }
  return merged;
}
