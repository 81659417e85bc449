import { hash } from 'node:crypto';

import type { ForeignItem } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';

/** Members of an item that clients add, drop or rename when they send it back. */
const INCIDENTAL: ReadonlySet<string> = new Set(['id', 'status', 'internal_chat_message_metadata_passthrough']);

/** Lists of a content part that mean the same when they are missing. */
const OPTIONAL_LISTS: ReadonlySet<string> = new Set(['annotations', 'logprobs']);

const digests = new WeakMap<ForeignItem, string>();

/** The digest of no items. */
export const NO_ITEMS = '';

/** A list of items: their number, and their digest. */
export interface ItemList {
  readonly count: number;
  readonly items: string;
}

/**
 * The digest of a list of items, from that of its beginning and the items after it. Items are equal if they differ only in what
 * clients change when they replay them: ids, statuses, null members, empty lists, the order of members.
 */
export function digestItems(beginning: string, items: readonly ForeignItem[]): string {
  let digest = beginning;
  for (const item of items) digest = hash('sha256', digest + digestItem(item), 'base64url');
  return digest;
}

/** Cached for the lifetime of the item: transcripts hold the same objects from turn to turn. */
function digestItem(item: ForeignItem): string {
  let digest = digests.get(item);
  if (digest === undefined) {
    digest = hash('sha256', toText(comparable(item)), 'base64url');
    digests.set(item, digest);
  }
  return digest;
}

/** An item without what clients change. */
function comparable(item: ForeignItem): Readonly<Record<string, unknown>> {
  const entries = Object.entries(item).filter(([name, value]) => !INCIDENTAL.has(name) && !isNothing(value));
  return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.map(toPart) : value]));
}

function toPart(part: unknown): unknown {
  if (!isObject(part)) return part;
  return Object.fromEntries(
    Object.entries(part).filter(([name, value]) => value != null && !(OPTIONAL_LISTS.has(name) && isNothing(value))),
  );
}

function isNothing(value: unknown): boolean {
  return value == null || (Array.isArray(value) && value.length === 0);
}

/**
 * A text that only equal JSON values share, whatever the order of members. Texts have their length before them in place of escapes,
 * which costs half as much as JSON: clients that replay their history have megabytes in each request.
 */
function toText(value: unknown): string {
  // Half a surrogate pair has no UTF-8, so that only its escape differs from that of another one.
  if (typeof value === 'string') return value.isWellFormed() ? `"${value.length}:${value}` : JSON.stringify(value);
  if (Array.isArray(value)) {
    let text = '[';
    for (const member of value as readonly unknown[]) text += toText(member);
    return `${text}]`;
  }
  if (!isObject(value)) return `${String(value)},`;
  let text = '{';
  for (const name of Object.keys(value).sort()) text += toText(name) + toText(value[name]);
  return `${text}}`;
}
