import { type Query, recordOfStrings } from '../validation/index.js';

const KEY = /^metadata\[(.*)\]$/s;

/** The rule of the metadata by which a list is filtered. */
export const metadataFilter = recordOfStrings({
  expected: 'metadata as metadata[name]=value',
  maxProperties: 16,
  maxNameLength: 64,
  maxValueLength: 512,
});

/** The metadata of a query, `metadata[name]=value`, as an unvalidated member; nothing if it has none. */
export function metadataIn(query: Query): { readonly metadata?: unknown } {
  const pairs = Object.entries(query).flatMap(([key, value]) => {
    const name = KEY.exec(key)?.[1];
    return name === undefined ? [] : [[name, value]];
  });
  // Without a name it is refused.
  if (query.metadata !== undefined) return { metadata: query.metadata };
  return pairs.length === 0 ? {} : { metadata: Object.fromEntries(pairs) };
}
