/** One event as received. */
export interface WireEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A violation of a rule of the protocol. */
export class EventOrderError extends Error {
  override readonly name = 'EventOrderError';
  /** The position in the stream, from 0; null for a missing end. */
  readonly position: number | null;
  /** The event that violated the rule, if any. */
  readonly event: unknown;

  /** `rule` states what must hold. */
  constructor(
    readonly rule: string,
    at?: { readonly position: number; readonly event: unknown },
  ) {
    super(at === undefined ? rule : `event ${at.position} (${typeOf(at.event)}): ${rule}`);
    this.position = at?.position ?? null;
    this.event = at?.event;
  }
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

/** `typeof`, with `array`, `null` and `integer` told apart. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

/** Whether a value is an object with members, and no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return kindOf(value) === 'object';
}

function typeOf(event: unknown): string {
  return isObject(event) && typeof event['type'] === 'string' ? event['type'] : 'no type';
}
