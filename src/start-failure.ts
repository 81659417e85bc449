import { EnvironmentError } from './config/index.js';
import { StateStartError } from './state/index.js';

/**
 * Why the service did not start. A wrong variable, a taken port or a foreign address is the operator's to mend, so it is
 * said in a line; anything else is ours and comes with its stack.
 */
export function describeStartFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof EnvironmentError || error instanceof StateStartError || 'syscall' in error) return error.message;
  return error.stack ?? error.message;
}
