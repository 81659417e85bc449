import type { Item } from '../../protocol/index.js';
import { isUserMessage } from '../../providers/transcripts/index.js';

/** Tokens of some items. A count beyond `limit` may stop. */
export type CountItems = (items: readonly Item[], limit: number) => Promise<number>;

/** The latest messages of the user that have at most `budget` tokens together, oldest first. */
export async function keepLatest(
  history: readonly Item[],
  budget: number,
  count: CountItems,
): Promise<readonly Item[]> {
  const kept: Item[] = [];
  let left = budget;
  for (const message of history.filter(isUserMessage).reverse()) {
    const tokens = await count([message], left);
    if (tokens > left) break;
    left -= tokens;
    kept.push(message);
  }
  return kept.reverse();
}
