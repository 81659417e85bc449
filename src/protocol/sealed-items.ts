import type { Item } from './wire.js';

/** The longest `encrypted_content` of a compaction item (protocol §2), characters. */
export const MAX_SEAL_CHARACTERS = 20_971_520;

/** Whether an item stands for everything before it (protocol §9). Codex has an older name for it. */
export function isCompaction({ type }: Item): boolean {
  return type === 'compaction' || type === 'compaction_summary';
}

/** Whether it is reasoning with `encrypted_content`. */
export function isSealedReasoning({ type, encrypted_content: sealed }: Item): boolean {
  return type === 'reasoning' && typeof sealed === 'string' && sealed !== '';
}

/** Reasoning without its `encrypted_content`; undefined if nothing is left that a model could be given. */
export function withoutSeal({ encrypted_content: _, ...reasoning }: Item): Item | undefined {
  return Array.isArray(reasoning.content) && reasoning.content.length > 0 ? reasoning : undefined;
}

/** Leaves out the reasoning of earlier turns: everything before the last message of a user (protocol §2). */
export function withoutEarlierReasoning(items: readonly Item[]): readonly Item[] {
  const turn = items.findLastIndex(({ type, role }) => type === 'message' && role === 'user');
  return items.filter(({ type }, index) => index >= turn || type !== 'reasoning');
}
