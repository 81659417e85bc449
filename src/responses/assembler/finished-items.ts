import type { Item } from '../../protocol/index.js';
import type { WrittenLog } from './fold-events.js';
import type { AssemblerNote } from './state.js';

/**
 * The finished items of a response that still runs, in the order in which they began. Needs only those batches of its
 * log that have an `output_item.done` event or a `dropped` note.
 */
export function finishedItems({ events, notes }: WrittenLog): readonly Item[] {
  const items = new Map<number, Item>();
  for (const { type, json } of events) {
    if (type !== 'response.output_item.done') continue;
    const done = JSON.parse(`${json}}`) as { readonly output_index: number; readonly item: Item };
    items.set(done.output_index, done.item);
  }
  for (const note of notes as readonly AssemblerNote[]) if (note.type === 'dropped') items.delete(note.outputIndex);
  return [...items].sort(([one], [other]) => one - other).map(([, item]) => item);
}
