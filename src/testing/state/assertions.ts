import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';

import { isObject } from '../events/rule.js';

/** Throws an AssertionError unless two values are alike: members that are undefined and prototypes do not count. */
export function requireAlike(actual: unknown, expected: unknown): void {
  assert.deepEqual(toPlain(actual), toPlain(expected));
}

/** Throws an AssertionError unless a value has what another one has: objects may have further members, lists no further entries. */
export function requireMatch(actual: unknown, expected: unknown): void {
  assert.deepEqual(pick(actual, expected), toPlain(expected));
}

/** Throws an AssertionError unless a list has an entry like this one. */
export function requireEntry(list: readonly unknown[], expected: unknown): void {
  if (list.some((entry) => isDeepStrictEqual(toPlain(entry), toPlain(expected)))) return;
  assert.fail(`${JSON.stringify(list)} must have ${JSON.stringify(expected)}`);
}

/** Throws an AssertionError unless a promise is rejected with an Error whose message contains a text. */
export async function requireRejection(promise: Promise<unknown>, text: string): Promise<void> {
  await assert.rejects(promise, (error: unknown) => {
    assert.ok(error instanceof Error && error.message.includes(text), `${String(error)} must say: ${text}`);
    return true;
  });
}

/** A copy without prototypes and undefined members. */
function toPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlain);
  if (value instanceof Map) return new Map([...value].map(([key, entry]) => [key, toPlain(entry)]));
  if (Object.prototype.toString.call(value) !== '[object Object]') return value;
  const members = Object.entries(value as object).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, toPlain(member)]));
}

/** What a value has of the members of another one. */
function pick(value: unknown, wanted: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(wanted)) return value.map((entry, index) => pick(entry, wanted[index]));
  if (typeof value !== 'object' || value === null || !isObject(wanted)) return toPlain(value);
  // Also of an error or a list, such as its length.
  const members = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(wanted).filter((name) => members[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, pick(members[name], wanted[name])]));
}
