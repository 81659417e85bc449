import { StoreUnavailableError } from '../../src/state/index.js';
import { SystemClock } from '../../src/time/index.js';

/** Between calls to what is not available, ms. */
const PAUSE_MS = 10;

/**
 * What a call gives as soon as the backend can serve it: a backend that does not wait long also gives up what a busy machine
 * delays. Rejects with what is no StoreUnavailableError.
 */
export async function whenServed<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
    await new SystemClock().sleep(PAUSE_MS);
  }
}
