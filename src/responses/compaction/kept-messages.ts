import type { ContentPart, Item } from '../../protocol/index.js';
import { isModelItem, isUserMessage } from '../../providers/transcripts/index.js';

/** Fewer characters of a text are of no use. */
const SHORTEST = 64;

/** Tokens of some items. A count beyond `limit` may stop. */
export type CountItems = (items: readonly Item[], limit: number) => Promise<number>;

/** What is kept of a history. */
export interface KeepOptions {
  /** Most tokens. */
  readonly tokens: number;
  /** Most tokens with the question that waits for its answer, which is kept first. */
  readonly tokensWithQuestion: number;
  /** Most bytes, as JSON. */
  readonly bytes: number;
  /** Whether the latest messages of the user wait for their answer. */
  readonly isUnanswered: boolean;
  readonly count: CountItems;
}

/**
 * The latest messages of the user that fit, oldest first; one that is too large is skipped. A question that waits for its answer is
 * always kept: if it is too large, without its middle.
 */
export async function keepLatest(history: readonly Item[], options: KeepOptions): Promise<readonly Item[]> {
  const { count, isUnanswered } = options;
  const question = isUnanswered ? latestQuestion(history) : [];
  const kept: Item[] = [];
  let tokens = 0;
  let bytes = 0;
  for (const message of history.filter(isUserMessage).reverse()) {
    const isAsked = question.includes(message);
    const left = (isAsked ? options.tokensWithQuestion : options.tokens) - tokens;
    if (left <= 0) break;
    const fits = async (item: Item): Promise<boolean> =>
      bytes + bytesOf(item) <= options.bytes && (await count([item], left)) <= left;
    const fitting = (await fits(message)) ? message : isAsked ? await cutMessage(message, fits) : undefined;
    if (fitting === undefined) continue;
    kept.push(fitting);
    tokens += await count([fitting], left);
    bytes += bytesOf(fitting);
  }
  return kept.reverse();
}

/** UTF-8 bytes of items as JSON. */
export function bytesOf(items: Item | readonly Item[]): number {
  return Buffer.byteLength(JSON.stringify(items));
}

/** The user's latest messages that no output of the model is between. */
function latestQuestion(history: readonly Item[]): readonly Item[] {
  const end = history.findLastIndex(isUserMessage) + 1;
  const before = history.slice(0, end).findLastIndex(isModelItem) + 1;
  return history.slice(before, end).filter(isUserMessage);
}

/** A message without the middle of its longest text, which says so; undefined if it does not fit even then. */
async function cutMessage(message: Item, fits: (item: Item) => Promise<boolean>): Promise<Item | undefined> {
  const content = message.content as readonly ContentPart[];
  const longest = content.reduce((most, part) => (lengthOf(part) > lengthOf(most) ? part : most));
  for (let length = Math.floor(lengthOf(longest) / 2); length >= SHORTEST; length = Math.floor(length / 2)) {
    const text = withoutMiddle(longest.text as string, length);
    const cut = { ...message, content: content.map((part) => (part === longest ? { ...part, text } : part)) };
    if (await fits(cut)) return cut;
  }
  return undefined;
}

function lengthOf({ text }: ContentPart): number {
  return typeof text === 'string' ? text.length : 0;
}

function withoutMiddle(text: string, length: number): string {
  // Not within surrogate pairs.
  const head = text.slice(0, Math.ceil(length / 2)).replace(/[\ud800-\udbff]$/, '');
  const tail = text.slice(-Math.floor(length / 2)).replace(/^[\udc00-\udfff]/, '');
  return `${head}\n[… ${text.length - head.length - tail.length} characters are left out here …]\n${tail}`;
}
