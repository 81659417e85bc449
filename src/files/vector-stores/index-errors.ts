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
