import type { StreamEvent } from '../protocol/index.js';

/** Members of events that have an index: of the item, and of the part of its content or of its summary. */
export const OUTPUT_INDEX = '"output_index":';
export const CONTENT_INDEX = '"content_index":';
export const SUMMARY_INDEX = '"summary_index":';

const ZERO = 48;

/** The index in an event that has one; the event need not be parsed. */
export function indexIn({ json }: StreamEvent, member: string): number {
  let at = json.indexOf(member) + member.length;
  let index = 0;
  for (;;) {
    const digit = json.charCodeAt(at++) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return index;
    index = index * 10 + digit;
  }
}
