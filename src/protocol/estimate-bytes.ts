/** Rough bytes of an object header, a property slot or an array slot in V8. */
const SLOT_BYTES = 16;

/** Roughly how many bytes a JSON value holds in memory. Walks without recursion: clients choose the depth. */
export function estimateBytes(value: unknown): number {
  // Only what has members waits: most values have none.
  const pending: object[] = [];
  let bytes = weigh(value, pending);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    // Members are not copied to be counted: that would cost more than they do.
    if (Array.isArray(next)) for (const member of next as readonly unknown[]) bytes += weigh(member, pending);
    else for (const name in next) bytes += weigh((next as Readonly<Record<string, unknown>>)[name], pending);
  }
  return bytes;
}

/** What a value takes without its own members, which have to wait. */
function weigh(value: unknown, pending: object[]): number {
  if (typeof value === 'string') return SLOT_BYTES + value.length * 2;
  if (typeof value !== 'object' || value === null) return SLOT_BYTES;
  pending.push(value);
  return SLOT_BYTES * 2;
}
