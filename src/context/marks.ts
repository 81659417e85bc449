import { hasOpaqueData, isCompaction, isCompactionTrigger, type Item } from '../protocol/index.js';
import { isOwnSeal } from '../seals/index.js';

/** What a transcript knows of its items that a model does not see as they are. */
export interface Marks {
  /** Whether there are such items. */
  readonly any: boolean;
  /** Whether the service has sealed one of them. */
  readonly hasOwnSeal: boolean;
  /** The position of the last compaction item; -1 without one. */
  readonly compaction: number;
}

/** The marks of a transcript that a model sees as it is. */
export const NO_MARKS: Marks = { any: false, hasOwnSeal: false, compaction: -1 };

/** The marks of a transcript with some items more, of which the first gets the position `from`. */
export function addMarks(marks: Marks, items: readonly Item[], from: number): Marks {
  if (!items.some(isMarked)) return marks;
  const compaction = items.findLastIndex(isCompaction);
  return {
    any: true,
    hasOwnSeal: marks.hasOwnSeal || items.some(hasOwnSeal),
    compaction: compaction === -1 ? marks.compaction : from + compaction,
  };
}

/** Whether the service has sealed an item. */
export function hasOwnSeal(item: Item): boolean {
  return isOwnSeal(item.encrypted_content) && (isCompaction(item) || item.type === 'reasoning');
}

function isMarked(item: Item): boolean {
  return isCompaction(item) || isCompactionTrigger(item) || hasOwnSeal(item) || hasOpaqueData(item);
}
