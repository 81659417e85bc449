import type { Tenant } from '../access/index.js';
import { isCompaction, type Item, withoutSeal } from '../protocol/index.js';
import type { KeyRing } from '../seals/index.js';
import { readCompacted } from './compacted-context.js';
import { hasOwnSeal } from './marks.js';
import type { OpenedItems } from './transcript.js';

/** How sealed items are opened. */
export interface Reader {
  readonly tenant: Tenant;
  /** Null where the service has sealed nothing. */
  readonly ring: KeyRing | null;
  /** What was opened before. */
  readonly opened: OpenedItems;
  /** Whether triggers of a compaction stay. */
  readonly keepsTriggers: boolean;
}

/** Items as a model sees them, oldest first. A compaction that opens replaces all before it; triggers of one are left out. */
export function openItems(items: readonly Item[], reader: Reader): readonly Item[] {
  let shown: Item[] = [];
  for (const item of items) {
    if (item.type === 'compaction_trigger' && !reader.keepsTriggers) continue;
    const compacted = isCompaction(item) ? openOwn(item, reader) : null;
    if (compacted !== null) shown = [...compacted];
    else for (const visible of openItem(item, reader)) shown.push(visible);
  }
  return shown;
}

/** What a model sees of an item: one item, several or, of reasoning that cannot be opened and has no text, none. */
export function openItem(item: Item, reader: Reader): readonly Item[] {
  return openOwn(item, reader) ?? [item];
}

/** What stands in a seal of the service; null for other items, and for a compaction that cannot be opened. */
export function openOwn(item: Item, reader: Reader): readonly Item[] | null {
  if (reader.ring === null || !hasOwnSeal(item)) return null;
  let found = reader.opened.get(item);
  if (found === undefined) {
    found = isCompaction(item) ? openCompaction(item, reader.ring, reader) : openReasoning(item, reader.ring, reader);
    reader.opened.set(item, found);
  }
  return found;
}

function openCompaction(item: Item, ring: KeyRing, { tenant }: Reader): readonly Item[] | null {
  const text = ring.open(tenant, 'compaction', item.encrypted_content as string);
  return text === undefined ? null : readCompacted(text);
}

/** Its text may stand beside the seal; reasoning of which nothing can be read is left out (protocol §9). */
function openReasoning(item: Item, ring: KeyRing, { tenant }: Reader): readonly Item[] {
  const visible = withoutSeal(item);
  if (visible !== undefined) return [visible];
  const text = ring.open(tenant, 'reasoning', item.encrypted_content as string);
  if (text === undefined) return [];
  const { encrypted_content: _, ...reasoning } = item;
  return [{ ...reasoning, content: [{ type: 'reasoning_text', text }] }];
}
