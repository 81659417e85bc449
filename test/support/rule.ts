/** One event as a transport delivered it. */
export interface WireEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Throws an Error that names the rule unless it holds. */
export function requireRule(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(rule);
}

/** Whether two JSON values are the same, whatever the order of their members. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (!isContainer(one) || !isContainer(other)) return Object.is(one, other);
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const members = Object.keys(one);
  if (members.length !== Object.keys(other).length) return false;
  return members.every((member) => Object.hasOwn(other, member) && isSameJson(one[member], other[member]));
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
