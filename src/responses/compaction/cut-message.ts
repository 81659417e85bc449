import type { ContentPart, Item } from '../../protocol/index.js';

/** Fewer characters of a text are of no use. */
const SHORTEST = 64;

/** A message without the middle of its longest text, which says so; undefined if it does not fit even then. */
export async function cutMessage(message: Item, fits: (item: Item) => Promise<boolean>): Promise<Item | undefined> {
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
