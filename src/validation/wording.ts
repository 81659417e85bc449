/** The longest piece of a client's text that an error message repeats. */
const QUOTED_LENGTH = 128;

/** A client's text as errors repeat it: a ten-megabyte value must not come back as a ten-megabyte error. */
export function clip(text: string): string {
  return text.length <= QUOTED_LENGTH ? text : `${text.slice(0, QUOTED_LENGTH)}…`;
}

/** What kind of JSON value this is, in the words of protocol §7; `null` is the caller's business. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'boolean') return 'a boolean';
  if (typeof value === 'object') return 'an object';
  if (typeof value !== 'number') return 'nothing';
  if (!Number.isFinite(value)) return 'a number out of range';
  return Number.isInteger(value) ? 'an integer' : 'a decimal';
}

/** `'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`: the lists of protocol §7. */
export function enumerate(values: readonly string[], conjunction: 'and' | 'or'): string {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.pop() ?? '';
  if (quoted.length === 0) return last;
  return quoted.length === 1
    ? `${quoted.join('')} ${conjunction} ${last}`
    : `${quoted.join(', ')}, ${conjunction} ${last}`;
}

/** How many characters a text has: a surrogate pair is one, as clients that count code points see it. */
export function lengthOf(text: string): number {
  let pairs = 0;
  for (let index = 1; index < text.length; index++) {
    if ((text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) pairs++;
  }
  return text.length - pairs;
}
