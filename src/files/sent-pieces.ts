import type { BodyBudget, BodyShare } from '../http/bodies/index.js';
import type { Environment } from '../config/index.js';
import { PIECE_BYTES } from '../state/index.js';

/** The part of BODY_TOTAL_BYTES that they may have together. */
const MOST_OF_BUDGET = 1 / 4;

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
    const isFull = this.total + bytes > most * MOST_OF_BUDGET || this.bodies.bytes + bytes > most;
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
