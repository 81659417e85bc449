import type { Clock } from '../../time/index.js';

/** A URL was not read. The message is for people and models, and begins with `It`. */
export class WebClientError extends Error {
  override readonly name: string = 'WebClientError';
}

/** A URL leads from one redirect to the next. */
export class EndlessRedirectsError extends WebClientError {
  override readonly name = 'EndlessRedirectsError';

  constructor(most: number) {
    super(`It has more than ${most} redirects.`);
  }
}

/** What `act` resolves with in time. Otherwise rejects with WebClientError, with the reason of the signal, and as `act` does. */
export async function inTime<T>(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = clock.schedule(timeoutMs, () => late.abort());
  try {
    return await act(AbortSignal.any([signal, late.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (late.signal.aborted) throw new WebClientError(`It did not answer within ${timeoutMs} ms.`);
    throw error;
  } finally {
    timer.cancel();
  }
}
