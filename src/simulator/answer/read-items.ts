import type { Item } from '../../protocol/index.js';

/** What an item says in words: of a message its content, of a tool output the output. */
export function readText(item: Item): string {
  const content = item.content ?? item.output;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map(readPart)
    .filter((text) => text !== '')
    .join('\n');
}

/** The types of a message's parts, `input_image` and the like. */
export function listPartTypes({ content }: Item): readonly string[] {
  if (!Array.isArray(content)) return [];
  return content.map((part: unknown) => String((part as { readonly type?: unknown } | null)?.type));
}

/** Whether a tool's answer, which the client brings. */
export function isToolOutput({ type }: Item): boolean {
  return type.endsWith('_output');
}

function readPart(part: unknown): string {
  if (typeof part !== 'object' || part === null || !('text' in part)) return '';
  return typeof part.text === 'string' ? part.text : '';
}
