import { createContext, Script } from 'node:vm';

const CALL = new Script('run()');

/**
 * Runs a synchronous function and terminates it after about `limitMs` of CPU time, because a client's regular expression may
 * backtrack almost without end. Uses `node:vm`, the only way to interrupt running code. Its clock is the wall clock: on a busy
 * machine, where that passes without work being done, the function is started again with more of it. Throws
 * ERR_SCRIPT_EXECUTION_TIMEOUT.
 */
export function runBounded<T>(run: () => T, limitMs: number): T {
  const context = createContext({ run });
  const start = process.cpuUsage();
  for (let timeout = limitMs; ; timeout *= 2) {
    try {
      return CALL.runInContext(context, { timeout }) as T;
    } catch (error) {
      const { user, system } = process.cpuUsage(start);
      // On a machine with nothing else to do they are almost equal.
      if (!isTimeout(error) || user + system >= limitMs * 500) throw error;
    }
  }
}

/** Whether `runBounded` has terminated the function. */
export function isTimeout(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
