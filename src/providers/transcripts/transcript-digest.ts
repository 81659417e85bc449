import { hash } from 'node:crypto';

import type { Item } from '../../protocol/index.js';

/** Members that differ between runs although the content is the same. */
const INCIDENTAL = new Set(['id', 'call_id', 'status', 'encrypted_content', 'annotations', 'logprobs', 'phase']);

const digests = new WeakMap<Item, string>();

/**
 * The SHA-256 digest of a transcript, in hex. Ids and other incidental members are excluded, as is reasoning, because only some
 * clients replay it. The digest of each item is cached for its lifetime.
 */
export function digestTranscript(context: readonly Item[]): string {
  let all = '';
  for (const item of context) if (item.type !== 'reasoning') all += digestItem(item);
  return hash('sha256', all);
}

function digestItem(item: Item): string {
  let digest = digests.get(item);
  if (digest === undefined) {
    digest = hash('sha256', JSON.stringify(item, withoutIncidentals));
    digests.set(item, digest);
  }
  return digest;
}

function withoutIncidentals(key: string, value: unknown): unknown {
  return INCIDENTAL.has(key) ? undefined : value;
}
