import { createContext, Script } from 'node:vm';

const CALL = new Script('run()');

/**
 * Runs something that must not hold the event loop for long, and stops it after `limitMs`: a client's regular expression
 * may backtrack for years. The engine can end what it is in the middle of only where it runs under a script of `node:vm`.
 * Throws ERR_SCRIPT_EXECUTION_TIMEOUT when the time is up.
 */
export function runBounded<T>(run: () => T, limitMs: number): T {
  return CALL.runInContext(createContext({ run }), { timeout: limitMs }) as T;
}
