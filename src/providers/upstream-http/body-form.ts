/** Whitespace, and the bytes of a byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);
const BRACE = 0x7b;
const BRACKET = 0x5b;
const ANGLE = 0x3c;

/** What a body is. `lines`: JSON objects, one in each line. */
export type BodyForm = 'document' | 'lines' | 'page' | 'events';

/** Why a page is no answer: an address that a browser would show answers everything with 200. */
export const IS_PAGE = 'the answer is a web page: base_url may name a site and not its API, or a proxy has answered';

/**
 * Whether a body is a JSON document, a web page or an event stream, judged by its first character because `content-type` is not reliable.
 * Undefined if there is only whitespace. A document may turn out to be lines of JSON behind its first line.
 */
export function formOf(piece: Uint8Array): Exclude<BodyForm, 'lines'> | undefined {
  const first = piece.find((byte) => !BLANKS.has(byte));
  if (first === undefined) return undefined;
  if (first === ANGLE) return 'page';
  return first === BRACE || first === BRACKET ? 'document' : 'events';
}

/** A piece without the whitespace and the byte order mark at its beginning. */
export function withoutBlanks(piece: Uint8Array): Uint8Array {
  const begin = piece.findIndex((byte) => !BLANKS.has(byte));
  return piece.subarray(begin === -1 ? piece.length : begin);
}
