import { getSystemErrorMessage } from 'node:util';

import { EnvironmentError } from './config/index.js';
import { StateStartError } from './state/index.js';

/**
 * Why the service did not start. A wrong variable, a taken port or a foreign address is the operator's to mend, so it is
 * said in a line; anything else is ours and comes with its stack.
 */
export function describeStartFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof EnvironmentError || error instanceof StateStartError) return error.message;
  if (isSystemError(error)) return describeSystemError(error);
  return error.stack ?? error.message;
}

function isSystemError(error: Error): error is NodeJS.ErrnoException {
  return 'syscall' in error;
}

/** Where a worker listens, Node names the fault by its code only: `bind EADDRINUSE 127.0.0.1:8080`. */
function describeSystemError({ message, code, errno }: NodeJS.ErrnoException): string {
  if (code === undefined || errno === undefined || message.includes(`${code}: `)) return message;
  return message.replace(code, `${code}: ${getSystemErrorMessage(errno)}`);
}
