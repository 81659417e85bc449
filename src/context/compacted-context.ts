import type { Item } from '../protocol/index.js';

/**
 * The text in the seal of a compaction item: the items that stand for everything before it, oldest first. They are what
 * was kept of the context, and a message with the summary of the rest.
 */
export function writeCompacted(items: readonly Item[]): string {
  return JSON.stringify({ items });
}

/** The items in the seal of a compaction item. */
export function readCompacted(text: string): readonly Item[] {
  return (JSON.parse(text) as { readonly items: readonly Item[] }).items;
}
