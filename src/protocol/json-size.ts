/** How a length is measured. */
export interface JsonLengthOptions {
  /** Beyond this length the rest is not measured. */
  readonly limit?: number;
  /** Members whose texts do not count, by name. */
  readonly without?: ReadonlySet<string>;
}

/**
 * Characters of a JSON value as text, without escapes. Much cheaper than the text itself, whatever the length of its strings.
 * Iterative, because clients choose the depth.
 */
export function jsonLength(value: unknown, { limit = Infinity, without }: JsonLengthOptions = {}): number {
  // Only objects and arrays are queued: most values are neither.
  const pending: object[] = [];
  let length = lengthOf(value, pending);
  for (let next = pending.pop(); next !== undefined && length <= limit; next = pending.pop()) {
    if (Array.isArray(next)) {
      for (const member of next as readonly unknown[]) length += lengthOf(member, pending) + 1;
      continue;
    }
    for (const name in next) {
      const member = (next as Readonly<Record<string, unknown>>)[name];
      if (typeof member === 'string' && without?.has(name) === true) continue;
      // The name in quotes, a colon and a comma.
      if (member !== undefined) length += name.length + 4 + lengthOf(member, pending);
    }
  }
  return length;
}

/** The length of a value without its members, which are queued. */
function lengthOf(value: unknown, pending: object[]): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  pending.push(value);
  return 1;
}

/** Rough bytes of an object header, a property slot or an array slot in V8. */
const SLOT_BYTES = 16;

/** Estimated bytes of a JSON value in memory. Iterative, because clients choose the depth. */
export function estimateBytes(value: unknown): number {
  // Only objects and arrays are queued: most values are neither.
  const pending: object[] = [];
  let bytes = weigh(value, pending);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    // Object.values would cost more than the estimate.
    if (Array.isArray(next)) for (const member of next as readonly unknown[]) bytes += weigh(member, pending);
    else for (const name in next) bytes += weigh((next as Readonly<Record<string, unknown>>)[name], pending);
  }
  return bytes;
}

/** The bytes of a value without its members, which are queued. */
function weigh(value: unknown, pending: object[]): number {
  if (typeof value === 'string') return SLOT_BYTES + value.length * 2;
  if (typeof value !== 'object' || value === null) return SLOT_BYTES;
  pending.push(value);
  return SLOT_BYTES * 2;
}
