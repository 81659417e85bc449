import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Where the function that calls this was called: `test/agent.test.ts:12:7`, relative to the working directory. `depth` 2 is where the
 * caller of that function was called.
 */
export function placeOfCaller(depth = 1): string {
  const holder = { stack: '' };
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = depth + 1;
  Error.captureStackTrace(holder, placeOfCaller);
  Error.stackTraceLimit = stackTraceLimit;
  const line = holder.stack.split('\n').at(-1) ?? '';
  const [, file, position] = /at (?:.*\()?([^()]+?)(:\d+:\d+)\)?$/.exec(line) ?? [];
  if (file === undefined || position === undefined) return 'an unknown place';
  const path = file.startsWith('file:') ? fileURLToPath(file) : file;
  return `${relative(process.cwd(), path)}${position}`;
}

/** What a check of a test's own input returns. What it throws begins with the place of the input. */
export function checkAt<T>(place: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw new Error(`${place}: ${(error as Error).message}`, { cause: error });
  }
}
