/** Rough bytes of an object header, a property slot or an array slot in V8. */
const SLOT_BYTES = 16;

/** Roughly how many bytes a JSON value holds in memory. Walks without recursion: clients choose the depth. */
export function estimateBytes(value: unknown): number {
  let bytes = 0;
  // Only what has members waits: most values have none.
  const pending: object[] = [[value]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const members: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    for (const member of members) {
      bytes += SLOT_BYTES;
      if (typeof member === 'string') bytes += member.length * 2;
      else if (typeof member === 'object' && member !== null) {
        bytes += SLOT_BYTES;
        pending.push(member);
      }
    }
  }
  return bytes;
}
