/**
 * The whole of a body that another server has written. When it is longer than `mostBytes`, rejects with what `tooLong` returns, or gives
 * what has come up to there where that is null. Rejects with the errors of the body.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
  tooLong: () => Error | null,
): Promise<Buffer> {
  const joined = new JoinedPieces();
  // Leaving the loop ends the request.
  for await (const part of body) {
    if (joined.length + part.byteLength > mostBytes) {
      const error = tooLong();
      if (error !== null) throw error;
      break;
    }
    joined.add(part);
  }
  return joined.whole();
}

/** The pieces of a body in one buffer, which grows: a server may send byte by byte, and a buffer of its own takes some hundred bytes. */
export class JoinedPieces {
  private room: Uint8Array = new Uint8Array(0);
  private bytes = 0;

  /** The bytes of all pieces. */
  get length(): number {
    return this.bytes;
  }

  add(piece: Uint8Array): void {
    const bytes = this.bytes + piece.byteLength;
    if (this.bytes === 0) {
      // Most bodies come in one piece, which needs no copy: whatever follows it moves to a new buffer.
      this.room = piece;
    } else {
      if (bytes > this.room.byteLength) {
        const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.bytes));
        larger.set(this.room.subarray(0, this.bytes));
        this.room = larger;
      }
      this.room.set(piece, this.bytes);
    }
    this.bytes = bytes;
  }

  /** All pieces; none may be added any more. */
  whole(): Buffer {
    return Buffer.from(this.room.buffer, this.room.byteOffset, this.bytes);
  }
}
