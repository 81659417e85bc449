import { createHash } from 'node:crypto';

import type { Item } from '../../protocol/index.js';

/** Members that differ although what is said is the same: given by a service or made anew for each run. */
const INCIDENTAL = new Set(['id', 'call_id', 'status', 'encrypted_content', 'annotations', 'logprobs', 'phase']);

const digests = new WeakMap<Item, string>();

/**
 * A fingerprint (SHA-256, hex) of what a model reads: the same for conversations that differ only in ids. Reasoning does
 * not count, because some clients replay it and others do not. Each item is read once and remembered for as long as it lives.
 */
export function digestTranscript(context: readonly Item[]): string {
  const hash = createHash('sha256');
  for (const item of context) if (item.type !== 'reasoning') hash.update(digestItem(item));
  return hash.digest('hex');
}

function digestItem(item: Item): string {
  let digest = digests.get(item);
  if (digest === undefined) {
    digest = createHash('sha256').update(JSON.stringify(item, withoutIncidentals)).digest('hex');
    digests.set(item, digest);
  }
  return digest;
}

function withoutIncidentals(key: string, value: unknown): unknown {
  return INCIDENTAL.has(key) ? undefined : value;
}
