import type { Handler } from './answer.js';
import { isFinalItem, isForeignItem } from './foreign-items.js';

/** Some servers change the `call_id` of such an item while it is open, so it opens when it is final. */
const OPENS_LATE = 'tool_search_call';

const added: Handler = (answer, { output_index: index, item }) => {
  // Nothing could refer to an item without either; its final form tells all.
  const isNamed = isForeignItem(item) && (index != null || typeof item.id === 'string');
  if (isNamed && item.type === OPENS_LATE) return;
  if (!isNamed || answer.open(index, item) === null) answer.drop();
};

/** Minimal servers announce no item: it is opened and closed. */
const done: Handler = (answer, { output_index: index, item }) => {
  if (isFinalItem(item)) answer.close(answer.items.at(index, item.id) ?? answer.open(index, item), item);
  else answer.drop();
};

/** The events that open and close items (upstreams §3.2). */
export const ITEMS: Readonly<Record<string, Handler>> = {
  'response.output_item.added': added,
  'response.output_item.done': done,
};
