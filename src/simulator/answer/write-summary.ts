import type { Turn } from '../../providers/index.js';
import { readText } from './read-items.js';

/** Characters that are quoted of a message. */
const QUOTE_LENGTH = 40;

/** A line of a summary has up to so many tokens; reasoning needs some, too. */
const TOKENS_PER_LINE = 64;

/** The summary of a context: how many items it has, and the beginnings of the latest, as far as `max_output_tokens` permits. */
export function writeSummary({ context, settings }: Turn): string {
  // The question for it comes last.
  const items = context.slice(0, -1);
  const lines = Math.min(20, Math.floor((settings.max_output_tokens ?? Infinity) / TOKENS_PER_LINE));
  const quoted = items.slice(Math.max(0, items.length - lines)).map((item) => {
    const who = typeof item.role === 'string' ? item.role : item.type;
    return `- ${who}: ${Array.from(readText(item)).slice(0, QUOTE_LENGTH).join('').replaceAll('\n', ' ')}`;
  });
  return [`Summary of ${items.length} items.`, ...quoted].join('\n');
}
