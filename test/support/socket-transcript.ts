import type { Item } from '../../src/index.js';

/** Items as a reader would tell them: messages as `role: text`, everything else by its type. */
export function transcript(items: readonly Item[]): readonly string[] {
  return items.map((item) => {
    if (item.type !== 'message') return item.type;
    const content = item['content'] as readonly { readonly text?: string }[];
    return `${String(item['role'])}: ${content.map(({ text }) => text ?? '').join('')}`;
  });
}
