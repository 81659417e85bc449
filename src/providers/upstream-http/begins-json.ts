const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const BRACE = 0x7b;
const BRACKET = 0x5b;

/**
 * Whether a body is a JSON document rather than an event stream, judged by its first character because `content-type` is not
 * reliable. Undefined if there is only whitespace.
 */
export function beginsJson(piece: Uint8Array): boolean | undefined {
  const first = piece.find((byte) => !BLANKS.has(byte));
  return first === undefined ? undefined : first === BRACE || first === BRACKET;
}
