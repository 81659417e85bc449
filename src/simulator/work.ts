/** More work than a caller allows. The message completes a sentence about what was to be done. */
export class TooMuchWork extends Error {
  override readonly name = 'TooMuchWork';
}

/** Steps left; without a bound any number of them. */
let left = Infinity;

/**
 * Runs a synchronous function that may `spend` so many steps. A step is about what a regular expression does to one character:
 * 10 to 20 ns on a machine of 2025. Steps and not time are bounded, because a slow machine has to give the same results.
 */
export function boundWork<T>(steps: number, run: () => T): T {
  const outer = left;
  left = steps;
  try {
    return run();
  } finally {
    left = outer;
  }
}

/**
 * Counts steps of work that was done or is about to be done. Throws TooMuchWork when none are left, and from then on with every call,
 * so that work ends even where a library catches errors.
 */
export function spend(steps: number, reason = 'It is too large for the simulator.'): void {
  left -= steps;
  if (left < 0) throw new TooMuchWork(reason);
}
