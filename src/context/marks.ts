import { hasOpaqueData, isCompaction, isCompactionTrigger, type Item } from '../protocol/index.js';
import { isOwnSeal } from './seals/index.js';
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
  /** Whether files may be among them: such a part is there, or a compaction in which one may stand. */
  readonly mayHoldFiles: boolean;
}

/** The marks of a transcript that a model sees as it is. */
export const NO_MARKS: Marks = {
  any: false,
  hasOwnSeal: false,
  compaction: -1,
  mayConfigure: false,
  mayHoldFiles: false,
};

/** The marks of a transcript with some items more, of which the first gets the position `from`. */
export function addMarks(marks: Marks, items: readonly Item[], from: number): Marks {
  const configures = items.some(isConfigurationUpdate);
  const givesFiles = !marks.mayHoldFiles && items.some(holdsFiles);
  if (!items.some(isMarked)) {
    if (!configures && !givesFiles) return marks;
    return { ...marks, mayConfigure: marks.mayConfigure || configures, mayHoldFiles: marks.mayHoldFiles || givesFiles };
  }
  const compaction = items.findLastIndex(isCompaction);
  return {
    any: true,
    mayConfigure: marks.mayConfigure || configures || compaction !== -1,
    mayHoldFiles: marks.mayHoldFiles || givesFiles || compaction !== -1,
    hasOwnSeal: marks.hasOwnSeal || items.some(hasOwnSeal),
    compaction: compaction === -1 ? marks.compaction : from + compaction,
  };
}

/** Whether the service has sealed an item. */
export function hasOwnSeal(item: Item): boolean {
  return isOwnSeal(item.encrypted_content) && (isCompaction(item) || item.type === 'reasoning');
}

/** Whether an item has a file: as data, by an id, or as an image by an id. */
export function holdsFiles({ content, output }: Item): boolean {
  return hasFilePart(content) || hasFilePart(output);
}

function hasFilePart(parts: unknown): boolean {
  if (!Array.isArray(parts)) return false;
  return (parts as readonly (Readonly<Record<string, unknown>> | null)[]).some(
    (part) => part?.type === 'input_file' || (part?.type === 'input_image' && typeof part.file_id === 'string'),
  );
}

function isMarked(item: Item): boolean {
  return isCompaction(item) || isCompactionTrigger(item) || hasOwnSeal(item) || hasOpaqueData(item);
}
