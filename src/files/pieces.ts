/** What a piece takes at first, bytes: most uploads that stand still have sent little. */
const LEAST_BYTES = 65_536;

/**
 * A content in pieces of a length, of which the last may be shorter. Each has memory of its own: it may be kept and handed on. `length`:
 * bytes. `hold` is told how many bytes the current piece takes; what it throws ends the content.
 */
export async function* inPieces(
  content: AsyncIterable<Uint8Array>,
  length: number,
  hold: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let piece: Uint8Array = EMPTY;
  let filled = 0;
  for await (const chunk of content) {
    for (let taken = 0; taken < chunk.length;) {
      const part = chunk.subarray(taken, taken + length - filled);
      if (piece.length < filled + part.length) {
        const larger = Math.min(length, Math.max(LEAST_BYTES, 2 * (filled + part.length)));
        hold(larger);
        piece = grown(piece, larger);
      }
      piece.set(part, filled);
      filled += part.length;
      taken += part.length;
      if (filled < length) continue;
      yield piece;
      piece = EMPTY;
      filled = 0;
    }
  }
  if (filled > 0) yield piece.slice(0, filled);
}

const EMPTY = new Uint8Array(0);

function grown(piece: Uint8Array, length: number): Uint8Array {
  const larger = new Uint8Array(length);
  larger.set(piece);
  return larger;
}
