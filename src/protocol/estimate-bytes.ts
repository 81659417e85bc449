/** Rough bytes of an object header, a property slot or an array slot in V8. */
const SLOT_BYTES = 16;

/** Roughly how many bytes a JSON value holds in memory. Walks without recursion: clients choose the depth. */
export function estimateBytes(value: unknown): number {
  let bytes = 0;
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    bytes += SLOT_BYTES;
    if (typeof next === 'string') bytes += next.length * 2;
    else if (typeof next === 'object' && next !== null) {
      for (const name in next) pending.push((next as Readonly<Record<string, unknown>>)[name]);
      bytes += SLOT_BYTES;
    }
  }
  return bytes;
}
