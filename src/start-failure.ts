import { EnvironmentError } from './config/index.js';
import { SchemaError } from './state/index.js';

/**
 * Why the service did not start. A wrong variable, a taken port or a foreign address is the operator's to mend, so it is
 * said in a line; anything else is ours and comes with its stack.
 */
export function describeStartFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof EnvironmentError || error instanceof SchemaError || 'syscall' in error) return error.message;
  // What the database refuses, such as a wrong password.
  if ('severity' in error) return `DATABASE_URL: ${error.message}`;
  return error.stack ?? error.message;
}
