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
