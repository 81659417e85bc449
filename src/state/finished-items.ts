import type { Item } from '../protocol/index.js';
import type { LogBatch, LogNote } from './event-log.js';

type LoggedItems = Pick<LogBatch, 'events' | 'notes'>;

const ITEM_DONE = 'response.output_item.done';
const DROPPED = 'dropped';

/** Whether a batch says something about finished items. */
export function hasItems({ events, notes }: LoggedItems): boolean {
  return events.some(({ type }) => type === ITEM_DONE) || notes.some(({ type }) => type === DROPPED);
}

/** The output items that a running response has finished, from the batches that `hasItems`. */
export function finishedItems({ events, notes }: LoggedItems): readonly Item[] {
  const items = new Map<number, Item>();
  for (const { type, json } of events) {
    if (type !== ITEM_DONE) continue;
    const done = JSON.parse(`${json}}`) as { readonly output_index: number; readonly item: Item };
    items.set(done.output_index, done.item);
  }
  for (const note of notes) if (isDrop(note)) items.delete(note.outputIndex);
  return [...items].sort(([one], [other]) => one - other).map(([, item]) => item);
}

/** An unfinished item of an attempt that died is not part of the output. */
function isDrop(note: LogNote): note is LogNote & { readonly outputIndex: number } {
  return note.type === DROPPED;
}
