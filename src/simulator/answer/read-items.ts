import type { Item } from '../../protocol/index.js';

/** The text of a message's content or of a tool output. */
export function readText(item: Item): string {
  const content = item.content ?? item.output;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map(readPart)
    .filter((text) => text !== '')
    .join('\n');
}

/** The types of a message's parts, such as `input_image`. */
export function listPartTypes({ content }: Item): readonly string[] {
  if (!Array.isArray(content)) return [];
  return content.map((part: unknown) => String((part as { readonly type?: unknown } | null)?.type));
}

function readPart(part: unknown): string {
  if (typeof part !== 'object' || part === null || !('text' in part)) return '';
  return typeof part.text === 'string' ? part.text : '';
}
