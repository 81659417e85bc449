import { type Item, jsonLength } from '../../protocol/index.js';
import { isUserMessage } from '../../providers/transcripts/index.js';

/** Tokens of some items. A count beyond `limit` may stop. */
export type CountItems = (items: readonly Item[], limit: number) => Promise<number>;

/** Characters of the messages that are kept: `encrypted_content` is limited (protocol §2), and images have few tokens for their length. */
const MOST_CHARACTERS = 8 * 1024 * 1024;

/** The latest messages of the user that have at most `budget` tokens together, oldest first. */
export async function keepLatest(
  history: readonly Item[],
  budget: number,
  count: CountItems,
): Promise<readonly Item[]> {
  const kept: Item[] = [];
  let left = budget;
  let characters = 0;
  for (const message of history.filter(isUserMessage).reverse()) {
    const tokens = await count([message], left);
    characters += jsonLength(message);
    if (tokens > left || characters > MOST_CHARACTERS) break;
    left -= tokens;
    kept.push(message);
  }
  return kept.reverse();
}
