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

/**
 * The digest of a list of items, from that of its beginning and the items after it. Items are equal if they differ only in what
 * clients change when they replay them: ids, statuses, null members, empty annotations and log probabilities, the order of members.
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
    digest = hash('sha256', JSON.stringify(toComparable(item), sorted), 'base64url');
    digests.set(item, digest);
  }
  return digest;
}

function toComparable(item: ForeignItem): unknown {
  const entries = Object.entries(item).filter(([name, value]) => value != null && !INCIDENTAL.has(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.map(toPart) : value]));
}

function toPart(part: unknown): unknown {
  if (!isObject(part)) return part;
  const isEmpty = (name: string, value: unknown): boolean =>
    value == null || (OPTIONAL_LISTS.has(name) && Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(part).filter(([name, value]) => !isEmpty(name, value)));
}

/** A replacer for JSON.stringify that writes members in the order of their names. */
function sorted(_: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
