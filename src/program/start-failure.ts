import { getSystemErrorMessage } from 'node:util';

import { EnvironmentError } from '../config/index.js';
import { StateError, StateStartError, StateTransferError } from '../state/index.js';

/** What helps when a port cannot be listened on, by the error's code. */
const PORT_ADVICE: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'Choose another port with --port (PORT), such as --port 0 for any free one.'],
  ['EACCES', 'Choose a port above 1023 with --port (PORT).'],
]);

/**
 * The message for a failed start. Errors that the operator can correct, such as an invalid variable or a port in use,
 * take one line; others include their stack.
 */
export function describeStartFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof EnvironmentError || error instanceof StateStartError) return error.message;
  if (error instanceof StateTransferError || error instanceof StateError) return error.message;
  if (isSystemError(error)) return describeSystemError(error);
  return error.stack ?? error.message;
}

function isSystemError(error: Error): error is NodeJS.ErrnoException {
  return 'syscall' in error;
}

/** In a worker, Node names the error only by its code: `bind EADDRINUSE 127.0.0.1:8080`. */
function describeSystemError({ message, code, errno }: NodeJS.ErrnoException): string {
  const isNamed = code === undefined || errno === undefined || message.includes(`${code}: `);
  const text = isNamed ? message : message.replace(code, `${code}: ${getSystemErrorMessage(errno)}`);
  const advice = PORT_ADVICE.get(code ?? '');
  return advice === undefined ? text : `${text}. ${advice}`;
}
