import { isMedia, validCuts } from '../../context/index.js';
import {
  type ContentPart,
  type IdGenerator,
  isSealedReasoning,
  type Item,
  lateOutputs,
  toOutputMessage,
  withoutSeal,
} from '../../protocol/index.js';
import type { CountItems } from './kept-messages.js';

/** How a history is divided into parts. */
export interface SummaryOptions {
  /** Most tokens of a part. */
  readonly room: number;
  readonly count: CountItems;
  readonly ids: IdGenerator;
}

/** Below this length a text is not cut further, whatever its tokens. */
const SHORTEST_TEXT = 64;

/**
 * Divides a history into parts of at most `room` tokens, in order. A call stays with its output and the reasoning before it. What is
 * too large by itself becomes several messages, each with a piece of its text; images and files get a message of their own.
 */
export async function divideIntoParts(
  history: readonly Item[],
  { room, count, ids }: SummaryOptions,
): Promise<readonly (readonly Item[])[]> {
  const parts: Item[][] = [];
  let left = 0;
  const add = (items: readonly Item[], tokens: number): void => {
    const last = parts.at(-1);
    if (last === undefined || tokens > left) {
      parts.push([...items]);
      left = room - tokens;
    } else {
      last.push(...items);
      left -= tokens;
    }
  };
  for (const group of groupsOf(history)) {
    const tokens = await count(group, room);
    if (tokens <= room) {
      add(group, tokens);
      continue;
    }
    for (const whole of group) {
      // No model can read a seal that is cut.
      const item = isSealedReasoning(whole) ? withoutSeal(whole) : whole;
      if (item === undefined) continue;
      for (const piece of await cutItem(item, { room, count, ids })) add([piece], await count([piece], room));
    }
  }
  return parts;
}

/** Items that belong together. */
function groupsOf(history: readonly Item[]): readonly (readonly Item[])[] {
  const late = lateOutputs(history);
  // The call of a late output may be in an earlier part.
  const items = history.map((item) => {
    const call = late.get(item);
    return call === undefined ? item : toOutputMessage(item, call);
  });
  const cuts = [0, ...validCuts(items, 0), items.length];
  return cuts.slice(1).map((end, index) => items.slice(cuts[index], end));
}

/** An item as messages that fit. */
async function cutItem(item: Item, { room, count, ids }: SummaryOptions): Promise<readonly Item[]> {
  if ((await count([item], room)) <= room && item.type === 'message') return [item];
  const say = (content: readonly ContentPart[]): Item => {
    return { id: ids.next('msg'), type: 'message', status: 'completed', role: 'user', content };
  };
  const sayText = (text: string): Item => say([{ type: 'input_text', text: `[${nameOf(item)}]\n${text}` }]);
  const { text, media } = contentOf(item);
  const texts = await cutText(text, async (piece) => (await count([sayText(piece)], room)) <= room);
  return [...texts.map(sayText), ...(media.length === 0 ? [] : [say(media)])];
}

/** Halves a text until each piece fits. */
async function cutText(text: string, fits: (piece: string) => Promise<boolean>): Promise<readonly string[]> {
  if (text === '') return [];
  if (text.length <= SHORTEST_TEXT || (await fits(text))) return [text];
  const middle = Math.ceil(text.length / 2);
  // Not within a surrogate pair.
  const cut = /[\udc00-\udfff]/.test(text.charAt(middle)) ? middle - 1 : middle;
  return [...(await cutText(text.slice(0, cut), fits)), ...(await cutText(text.slice(cut), fits))];
}

/** The text of an item, and its images, sounds and files. */
function contentOf({ id: _, ...item }: Item): { readonly text: string; readonly media: readonly ContentPart[] } {
  const content = item.content ?? item.output;
  if (typeof content === 'string') return { text: content, media: [] };
  if (!Array.isArray(content)) return { text: JSON.stringify(item), media: [] };
  const parts = content as readonly ContentPart[];
  const texts = parts.filter((part) => !isMedia(part)).map((part) => textOf(part));
  return { text: texts.join('\n'), media: parts.filter(isMedia) };
}

function textOf(part: ContentPart): string {
  return typeof part.text === 'string' ? part.text : JSON.stringify(part);
}

function nameOf({ type, role }: Item): string {
  return typeof role === 'string' ? role : type;
}
