/** Node's error codes of failed connections. */
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/**
 * The members of an error. `instanceof` is not reliable: the error may come from another realm, for example under jest.
 */
export interface ErrorFacts {
  readonly code?: unknown;
  readonly message?: unknown;
  /** The errors per address, for a host name with several. */
  readonly errors?: unknown;
}

/** What is known of whatever was thrown. */
export function factsOf(error: unknown): ErrorFacts {
  return typeof error === 'object' && error !== null ? error : {};
}

/** Whether an error code is one of a failed connection. */
export function isNetworkCode(code: string): boolean {
  return NETWORK_CODES.has(code);
}

/** An error of a driver in one line, for the log. */
export function describe(error: unknown): string {
  const { message, errors } = factsOf(error);
  if (Array.isArray(errors)) return errors.map(describe).join('; ');
  return typeof message === 'string' ? message : String(error);
}
