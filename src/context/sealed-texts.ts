import type { Item, OpaqueData } from '../protocol/index.js';

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

/** What stands in the seal of reasoning with opaque data. */
export interface SealedReasoning {
  /** Empty for opaque data alone. */
  readonly text: string;
  readonly opaque: OpaqueData;
}

/** The text in such a seal. */
export function writeSealedReasoning({ text, opaque }: SealedReasoning): string {
  return JSON.stringify({ text, opaque });
}

/** Reads the text in such a seal. */
export function readSealedReasoning(text: string): SealedReasoning {
  return JSON.parse(text) as SealedReasoning;
}
