/**
 * Whether a JSON value has more than `levels` nested objects and arrays. Stops there, so that its own recursion is
 * bounded: JSON.parse accepts any depth, but JSON.stringify and other recursive readers overflow the stack.
 */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const element of value) {
      if (typeof element === 'object' && isDeeperThan(levels - 1, element)) return true;
    }
    return false;
  }
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === 'object' && isDeeperThan(levels - 1, member)) return true;
  }
  return false;
}
