import type { CallToolResult } from '@modelcontextprotocol/client';

/**
 * The text of a result, a line or more for each part: the structured result as JSON, in place of the texts that repeat it, or else the
 * texts as they are; then images, audio and resources as the JSON of their parts.
 */
export function toOutput({ content, structuredContent }: CallToolResult): string {
  const isStructured = structuredContent !== undefined;
  const parts = isStructured ? content.filter(({ type }) => type !== 'text') : content;
  const lines = parts.map((part) => (part.type === 'text' ? part.text : JSON.stringify(part)));
  return (isStructured ? [JSON.stringify(structuredContent), ...lines] : lines).join('\n');
}
