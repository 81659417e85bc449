/**
 * A content in pieces of a length, of which the last may be shorter. Each has memory of its own: it may be kept and handed on. `length`:
 * bytes. `hold` is told how many bytes of the current piece there are; what it throws ends the content.
 */
export async function* inPieces(
  content: AsyncIterable<Uint8Array>,
  length: number,
  hold: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let piece = new Uint8Array(length);
  let filled = 0;
  for await (const chunk of content) {
    for (let taken = 0; taken < chunk.length;) {
      const part = chunk.subarray(taken, taken + length - filled);
      piece.set(part, filled);
      filled += part.length;
      taken += part.length;
      hold(filled);
      if (filled < length) continue;
      yield piece;
      piece = new Uint8Array(length);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.slice(0, filled);
}
