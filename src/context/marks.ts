import { hasOpaqueData, isCompaction, isCompactionTrigger, type Item } from '../protocol/index.js';
import { isOwnSeal } from '../seals/index.js';
import { isConfigurationUpdate } from './configuration.js';

/** What a transcript knows of its items that a model does not see as they are. */
export interface Marks {
  /** Whether there are such items. */
  readonly any: boolean;
  /** Whether the service has sealed one of them. */
  readonly hasOwnSeal: boolean;
  /** The position of the last compaction item; -1 without one. */
  readonly compaction: number;
  /** Whether items may change settings: such an item is there, or a compaction in which one may stand. */
  readonly mayConfigure: boolean;
}

/** The marks of a transcript that a model sees as it is. */
export const NO_MARKS: Marks = { any: false, hasOwnSeal: false, compaction: -1, mayConfigure: false };

/** The marks of a transcript with some items more, of which the first gets the position `from`. */
export function addMarks(marks: Marks, items: readonly Item[], from: number): Marks {
  const configures = items.some(isConfigurationUpdate);
  if (!items.some(isMarked)) return configures ? { ...marks, mayConfigure: true } : marks;
  const compaction = items.findLastIndex(isCompaction);
  return {
    any: true,
    mayConfigure: marks.mayConfigure || configures || compaction !== -1,
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
