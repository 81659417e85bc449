import type { BodyBudget, BodyShare } from '../http/bodies/index.js';
import type { Environment } from '../config/index.js';
import { PIECE_BYTES } from '../state/index.js';

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

/** The part of BODY_TOTAL_BYTES that pieces may have together while they are sent. */
const SENT_SHARE = 1 / 4;

/**
 * Bounds the memory of long pieces that wait for whoever reads them, perhaps slowly: a quarter of BODY_TOTAL_BYTES, in which they count. Where they do not
 * fit, the pieces are read in parts of PIECE_BYTES, as from a database: slow readers refuse nothing to others.
 */
export class SentPieces {
  private total = 0;

  constructor(
    private readonly environment: Environment,
    private readonly bodies: BodyBudget,
  ) {}

  /** The memory of a reader, which must be released at its end. */
  open(): SentPiece {
    return new SentPiece(this, this.bodies.openComplete());
  }

  /** Whether there is room for so many bytes more, which are taken then; they may be negative. */
  take(bytes: number): boolean {
    const { BODY_TOTAL_BYTES: most } = this.environment;
    const isFull = this.total + bytes > most * SENT_SHARE || this.bodies.bytes + bytes > most;
    if (bytes > 0 && isFull) return false;
    this.total += bytes;
    return true;
  }
}

/** What a reader has in memory. */
class SentPiece {
  private taken = 0;

  constructor(
    private readonly pieces: SentPieces,
    private readonly share: BodyShare,
  ) {}

  /** How many of the next bytes may be read at once, when all before are taken. */
  next(bytes: number): number {
    this.release();
    if (bytes <= PIECE_BYTES || !this.pieces.take(bytes)) return PIECE_BYTES;
    this.taken = bytes;
    this.share.hold(bytes);
    return bytes;
  }

  /** Gives everything back. */
  release(): void {
    this.pieces.take(-this.taken);
    this.taken = 0;
    this.share.release();
  }
}
