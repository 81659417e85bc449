/** The longest quote of client text in an error message. */
const QUOTED_LENGTH = 128;

/** Client text for an error message, shortened. */
export function clip(text: string): string {
  return text.length <= QUOTED_LENGTH ? text : `${text.slice(0, QUOTED_LENGTH)}…`;
}

/** The kind of a JSON value, in the words of protocol §7; the caller handles `null`. */
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

/** The second half of a character outside the basic plane. */
const LOW_SURROGATE = /[\uDC00-\uDFFF]/;

/** The number of code points of a text. */
export function lengthOf(text: string): number {
  if (!LOW_SURROGATE.test(text)) return text.length;
  let pairs = 0;
  for (let index = 1; index < text.length; index++) {
    if ((text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) pairs++;
  }
  return text.length - pairs;
}
