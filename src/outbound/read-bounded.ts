/**
 * The whole of a body that another server has written. When it is longer than `mostBytes`, rejects with what `tooLong` returns, or gives
 * what has come up to there where that is null. Rejects with the errors of the body.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
  tooLong: () => Error | null,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop ends the request.
  for await (const part of body) {
    if (bytes + part.byteLength > mostBytes) {
      const error = tooLong();
      if (error !== null) throw error;
      break;
    }
    bytes += part.byteLength;
    parts.push(part);
  }
  return Buffer.concat(parts, bytes);
}
