import type { Tenant } from '../access/index.js';
import { isCompaction, isCompactionTrigger, type Item, withoutSeal } from '../protocol/index.js';
import type { KeyRing } from '../seals/index.js';
import { readCompacted } from './compacted-context.js';
import { hasOwnSeal } from './marks.js';
import type { OpenedItem, OpenedItems } from './transcript.js';

/** How sealed items are opened. */
export interface Reader {
  readonly tenant: Tenant;
  /** Null where no item has a seal of our form. */
  readonly ring: KeyRing | null;
  /** What was opened before. */
  readonly opened: OpenedItems;
  /** Whether seals of other services stay. */
  readonly readsForeignSeals: boolean;
  /** Whether the trigger of a compaction stays. */
  readonly keepsTriggers: boolean;
}

/**
 * Items as a model sees them, oldest first. A compaction that opens replaces all before it. Only a trigger that is the last item still
 * asks for a compaction: others are left out.
 */
export function openItems(items: readonly Item[], reader: Reader): readonly Item[] {
  let shown: Item[] = [];
  const last = reader.keepsTriggers ? items.length - 1 : -1;
  for (const [index, item] of items.entries()) {
    if (isCompactionTrigger(item) && index !== last) continue;
    const opened = isCompaction(item) ? openOwn(item, reader) : null;
    if (isOpened(opened)) shown = [...opened];
    else for (const visible of openItem(item, reader)) shown.push(visible);
  }
  return shown;
}

/** What a model sees of an item: one item, several or, of reasoning that cannot be opened and has no text, none. */
export function openItem(item: Item, reader: Reader): readonly Item[] {
  const opened = openOwn(item, reader);
  if (opened === null || isOpened(opened)) return opened ?? [item];
  if (isCompaction(item) || (opened === 'foreign' && reader.readsForeignSeals)) return [item];
  const visible = withoutSeal(item);
  return visible === undefined ? [] : [visible];
}

/** What stands in a seal of our form, or why it cannot be opened; null for other items. */
export function openOwn(item: Item, { tenant, ring, opened }: Reader): OpenedItem | null {
  if (ring === null || !hasOwnSeal(item)) return null;
  let found = opened.get(item);
  if (found === undefined) {
    const purpose = isCompaction(item) ? 'compaction' : 'reasoning';
    const seal = ring.open(tenant, purpose, item.encrypted_content as string);
    if (typeof seal === 'string') found = seal;
    else found = isCompaction(item) ? readCompacted(seal.text) : [withText(item, seal.text)];
    opened.set(item, found);
  }
  return found;
}

/** Whether items were found. */
export function isOpened(opened: OpenedItem | null): opened is readonly Item[] {
  return opened !== null && typeof opened !== 'string';
}

/** Reasoning with its text, which may stand beside the seal. */
function withText(item: Item, text: string): Item {
  const { encrypted_content: _, ...reasoning } = item;
  return withoutSeal(item) ?? { ...reasoning, content: [{ type: 'reasoning_text', text }] };
}
