import { createContext, Script } from 'node:vm';

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

const CALL = new Script('run()');
/** One for all runs: to make it takes longer than to fill most schemas. */
const CONTEXT: { run?: () => unknown } = createContext({});

/** CPU time after which work does not end, ms: a hundred times what `boundWork` allows, and twenty times the largest schemas. */
const LAST_RESORT_MS = 30_000;

/**
 * Runs a synchronous function that counts its work, and terminates it should it count wrongly: otherwise a single request, with an
 * unknown loop in a library, would block all others without end. That is an error of this program and is thrown as one,
 * so that no answer depends on a clock.
 *
 * Uses `node:vm`, the only way to interrupt running code. Its clock is the wall clock: on a busy machine, where that passes without
 * work being done, the function is started again with more of it.
 */
export function runBounded<T>(run: () => T, limitMs = LAST_RESORT_MS): T {
  const start = process.cpuUsage();
  for (let timeout = limitMs; ; timeout *= 2) {
    try {
      CONTEXT.run = run;
      return CALL.runInContext(CONTEXT, { timeout }) as T;
    } catch (error) {
      if (!isTimeout(error)) throw error;
      const { user, system } = process.cpuUsage(start);
      // On a machine with nothing else to do they are almost equal.
      if (user + system >= limitMs * 500) throw new Error('The simulator did not end.', { cause: error });
    } finally {
      delete CONTEXT.run;
    }
  }
}

function isTimeout(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
