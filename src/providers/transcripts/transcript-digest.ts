import { hash } from 'node:crypto';

import type { Item } from '../../protocol/index.js';

/** Members that differ between runs although the content is the same. */
const INCIDENTAL = new Set(['id', 'call_id', 'status', 'encrypted_content', 'annotations', 'logprobs', 'phase']);

const digests = new WeakMap<Item, string>();

/** A lone item with fewer characters is digested again if its response is continued: mostly it is not, and each entry costs the garbage collector more. */
const LEAST_KEPT_ALONE = 1024;

/**
 * The SHA-256 digest of a transcript, in hex. Ids and other incidental members are excluded, as is reasoning, because only some
 * clients replay it. The digest of each item is cached for its lifetime, unless it is short and alone.
 */
export function digestTranscript(context: readonly Item[]): string {
  const leastKept = context.length === 1 ? LEAST_KEPT_ALONE : 0;
  let all = '';
  for (const item of context) if (item.type !== 'reasoning') all += digestItem(item, leastKept);
  return hash('sha256', all);
}

/** `leastKept`: the digest of fewer characters is not cached. */
function digestItem(item: Item, leastKept: number): string {
  const known = digests.get(item);
  if (known !== undefined) return known;
  const text = JSON.stringify(item, withoutIncidentals);
  const digest = hash('sha256', text);
  if (text.length >= leastKept) digests.set(item, digest);
  return digest;
}

function withoutIncidentals(key: string, value: unknown): unknown {
  return INCIDENTAL.has(key) ? undefined : value;
}
