import { Backoff, type Clock } from '../../time/index.js';
import { PAUSES } from '../pauses.js';

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
