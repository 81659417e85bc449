import type { Tenant } from '../access/index.js';
import { isCompaction, isCompactionTrigger, type Item, withoutOpaqueData, withoutSeal } from '../protocol/index.js';
import type { KeyRing, OpenedSeal, SealPurpose } from './seals/index.js';
import { readCompacted, readSealedReasoning } from './sealed-texts.js';
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
  /** Whether opaque data stays. */
  readonly takesOpaqueData: boolean;
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
    if (isOpened(opened)) shown = [...toTaken(opened, reader)];
    else for (const visible of openItem(item, reader)) shown.push(visible);
  }
  return shown;
}

/** What a model sees of an item: one item, several or, of reasoning that cannot be opened and has no text, none. */
export function openItem(item: Item, reader: Reader): readonly Item[] {
  const opened = openOwn(item, reader);
  if (opened === null || isOpened(opened)) return toTaken(opened ?? [item], reader);
  if (isCompaction(item) || (opened === 'foreign' && reader.readsForeignSeals)) return [item];
  const visible = withoutSeal(item);
  return visible === undefined ? [] : [visible];
}

/** What stands in a seal of our form, or why it cannot be opened; null for other items. */
export function openOwn(item: Item, { tenant, ring, opened }: Reader): OpenedItem | null {
  if (ring === null || !hasOwnSeal(item)) return null;
  let found = opened.get(item);
  if (found === undefined) {
    const sealed = item.encrypted_content as string;
    if (isCompaction(item)) {
      const seal = ring.open(tenant, 'compaction', sealed);
      found = typeof seal === 'string' ? seal : readCompacted(seal.text);
    } else {
      found = openReasoning(item, (purpose) => ring.open(tenant, purpose, sealed));
    }
    opened.set(item, found);
  }
  return found;
}

/** Whether items were found. */
export function isOpened(opened: OpenedItem | null): opened is readonly Item[] {
  return opened !== null && typeof opened !== 'string';
}

/** A seal says what it is for only once it is opened. */
function openReasoning(item: Item, open: (purpose: SealPurpose) => OpenedSeal): OpenedItem {
  const plain = open('reasoning');
  if (typeof plain !== 'string') return [withText(item, plain.text)];
  const whole = plain === 'altered' ? open('reasoning with data') : plain;
  if (typeof whole === 'string') return whole;
  const { text, opaque } = readSealedReasoning(whole.text);
  return [{ ...withText(item, text), opaque }];
}

/** Reasoning with its text, which may stand beside the seal. */
function withText(item: Item, text: string): Item {
  const { encrypted_content: _, ...reasoning } = item;
  if (text === '') return reasoning;
  return withoutSeal(item) ?? { ...reasoning, content: [{ type: 'reasoning_text', text }] };
}

function toTaken(items: readonly Item[], { takesOpaqueData }: Reader): readonly Item[] {
  return takesOpaqueData ? items : withoutOpaqueData(items);
}
