import type { ClaimedFile } from '../../state/index.js';
import type { Clock, Timer } from '../../time/index.js';
import type { VectorLibrary } from './vector-library.js';

/** A file cannot be indexed, whoever tries. */
export class UnindexableError extends Error {
  override readonly name = 'UnindexableError';

  constructor(
    readonly code: 'unsupported_file' | 'invalid_file' | 'server_error',
    message: string,
  ) {
    super(message);
  }
}

/** A file is given up after so many tries: processes die of it. */
const MOST_TRIES = 5;

/** Throws UnindexableError for a file that is to fail whatever its content is. */
export function requireIndexable({ tries, isDamaged }: ClaimedFile): void {
  if (isDamaged === true) {
    throw new UnindexableError('server_error', 'What is stored of the file is damaged. Please add it again.');
  }
  if (tries > MOST_TRIES) {
    throw new UnindexableError('server_error', `It could not be indexed in ${MOST_TRIES} attempts.`);
  }
}

/** A file cannot be indexed now, which is not its fault. */
export class NotNowError extends Error {
  override readonly name = 'NotNowError';

  constructor(
    message: string,
    /** When it may be tried again, ms from now. */
    readonly pauseMs: number,
  ) {
    super(message);
  }
}

/** The file is claimed by this process no more: it was cancelled, taken out or replaced, or the process stops. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
}

/** A claim that is renewed while its file is indexed. */
export class FileClaim {
  /** Chunks that were written. */
  chunks = 0;
  /** Aborts when the claim is lost, or the process stops. */
  readonly signal: AbortSignal;
  private readonly lost = new AbortController();
  private readonly timer: Timer;

  constructor(
    private readonly file: ClaimedFile,
    private readonly library: VectorLibrary,
    private readonly clock: Clock,
    private readonly leaseMs: number,
    stopping: AbortSignal,
  ) {
    this.signal = AbortSignal.any([this.lost.signal, stopping]);
    this.timer = clock.schedule(leaseMs / 3, () => {
      this.timer.refresh();
      // An outage is found by who writes next.
      this.confirm().catch(() => undefined);
    });
  }

  /** Renews the claim. Throws ClaimLostError, and StoreUnavailableError. */
  async confirm(): Promise<void> {
    this.signal.throwIfAborted();
    if (await this.library.records.renew(this.file, this.clock.now() + this.leaseMs)) return;
    const error = new ClaimLostError();
    this.lost.abort(error);
    throw error;
  }

  end(): void {
    this.timer.cancel();
  }
}
