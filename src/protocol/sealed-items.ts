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

/** What an upstream demands back with its answer, such as signatures; only the provider that has made it can read it. */
export type OpaqueData = Readonly<Record<string, unknown>>;

/** Whether an item has opaque data. Only models are given such reasoning; clients have it in seals, if at all. */
export function hasOpaqueData({ type, opaque }: Item): boolean {
  return type === 'reasoning' && opaque !== undefined;
}

/** Items without opaque data, and without reasoning that is nothing else. */
export function withoutOpaqueData(items: readonly Item[]): readonly Item[] {
  return items.some(hasOpaqueData) ? items.flatMap(withoutData) : items;
}

function withoutData(item: Item): readonly Item[] {
  if (!hasOpaqueData(item)) return [item];
  const { opaque: _, ...reasoning } = item;
  const isEmpty = [reasoning.content, reasoning.summary].every((parts) => !Array.isArray(parts) || parts.length === 0);
  return isEmpty ? [] : [reasoning];
}

/** Leaves out the reasoning of earlier turns: everything before the last message of a user (protocol §2). */
export function withoutEarlierReasoning(items: readonly Item[]): readonly Item[] {
  const turn = items.findLastIndex(({ type, role }) => type === 'message' && role === 'user');
  return items.filter(({ type }, index) => index >= turn || type !== 'reasoning');
}
