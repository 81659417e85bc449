import { Backoff, type Clock, type Pauses } from '../time/index.js';

/** Pauses between attempts to connect to an unavailable store. */
export const PAUSES: Pauses = { firstMs: 50, longestMs: 5000 };

/** How work is repeated. */
export interface Repetition {
  readonly clock: Clock;
  /** Ends the repetition. */
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
}

/** Attempts work until it succeeds, with pauses that grow, or until the signal aborts. Never rejects. */
export async function repeatUntilDone(
  work: () => Promise<unknown>,
  { clock, signal, onFailure }: Repetition,
): Promise<void> {
  const backoff = new Backoff(clock, PAUSES);
  do {
    try {
      await work();
      return;
    } catch (error) {
      onFailure(error);
    }
    await clock.sleep(backoff.failed(), signal);
  } while (!signal.aborted);
}

/**
 * Opens storage that was not available at start, with pauses that grow, until it is open or the signal aborts. `open`
 * returns false while the storage is temporarily unavailable; what it throws is given to `onFailure`. Never rejects.
 */
export async function keepOpening(
  open: () => Promise<boolean>,
  { clock, signal, onFailure }: Repetition,
): Promise<void> {
  const backoff = new Backoff(clock, PAUSES);
  for (;;) {
    await clock.sleep(backoff.failed(), signal);
    if (signal.aborted) return;
    try {
      if (await open()) return;
    } catch (error) {
      onFailure(error);
    }
  }
}
