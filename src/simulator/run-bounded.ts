import { createContext, Script } from 'node:vm';

const CALL = new Script('run()');

/**
 * Runs a synchronous function and terminates it after `limitMs`, because a client's regular expression may backtrack almost
 * without end. Uses `node:vm`, the only way to interrupt running code. Throws ERR_SCRIPT_EXECUTION_TIMEOUT.
 */
export function runBounded<T>(run: () => T, limitMs: number): T {
  return CALL.runInContext(createContext({ run }), { timeout: limitMs }) as T;
}
