import { isObject } from '../../validation/index.js';
import type { TextState } from './state.js';

/** What stands for half a character: no reader of strict JSON can use the half itself. */
const REPLACEMENT = '\ufffd';

/** What of a delta can be appended to a text: half a character at its end waits for the other half. */
export function joinHalves(text: TextState, delta: string): string {
  const { half } = text;
  if (half === undefined && delta.isWellFormed()) return delta;
  const joined = half === undefined ? delta : String.fromCharCode(half) + delta;
  const last = joined.charCodeAt(joined.length - 1);
  text.half = isFirstHalf(last) ? last : undefined;
  return (text.half === undefined ? joined : joined.slice(0, -1)).toWellFormed();
}

/** What ends a text: the replacement of a half that has stayed alone, or nothing. */
export function takeHalf(text: TextState): string {
  if (text.half === undefined) return '';
  text.half = undefined;
  return REPLACEMENT;
}

/** A JSON value without half characters in its texts; the value itself if it has none. */
export function withoutHalves<T>(value: T): T {
  return repair(value) as T;
}

function repair(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    const repaired = list.map(repair);
    return repaired.some((entry, index) => entry !== list[index]) ? repaired : value;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const repaired = entries.map(([name, member]) => [name, repair(member)] as const);
  return repaired.some(([, member], index) => member !== entries[index]?.[1]) ? Object.fromEntries(repaired) : value;
}

function isFirstHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
