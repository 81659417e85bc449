import type { Item } from '../../protocol/index.js';
import type { GivenItems } from '../given-items.js';
import type { ItemText, OutputTexts } from './new-response.js';

/** An item as it is stored. */
export function toItemText(item: Item): ItemText {
  return { id: item.id, text: JSON.stringify(item) };
}

/** What the end of a response adds to it, as it is stored. */
export function toOutputTexts(output: readonly Item[], given: readonly GivenItems[]): OutputTexts {
  return {
    output: output.map(toItemText),
    given: given.map(({ after, items }) => ({ after, items: items.map(toItemText) })),
  };
}
