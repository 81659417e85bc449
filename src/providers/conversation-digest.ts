import { createHash } from 'node:crypto';

import type { Item } from '../protocol/index.js';

/** Members that differ although what is said is the same: given by a service or made anew for each run. */
const INCIDENTAL = new Set(['id', 'call_id', 'status', 'encrypted_content', 'annotations', 'logprobs', 'phase']);

/**
 * A fingerprint (SHA-256, hex) of what a model reads: the same for conversations that differ only in ids. Reasoning does
 * not count, because some clients replay it and others do not.
 */
export function digestConversation(context: readonly Item[]): string {
  const hash = createHash('sha256');
  for (const item of context) if (item.type !== 'reasoning') hash.update(JSON.stringify(item, withoutIncidentals));
  return hash.digest('hex');
}

function withoutIncidentals(key: string, value: unknown): unknown {
  return INCIDENTAL.has(key) ? undefined : value;
}
