import type { Item } from '../../../protocol/index.js';

/** What an item says in words: of a message its content, of a tool output the output. */
export function readText(item: Item): string {
  const content = item.content ?? item.output;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map(readPart).join('\n');
}

function readPart(part: unknown): string {
  if (typeof part !== 'object' || part === null || !('text' in part)) return '';
  return typeof part.text === 'string' ? part.text : '';
}
