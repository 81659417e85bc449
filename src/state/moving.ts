import { isDigest, toKey } from './keys.js';
import { StateTransferError } from './state-transfer.js';

/**
 * The text of a key: itself, or the one of some texts whose digest it is. Throws StateTransferError when none is; `what` says
 * what it names.
 */
export function nameOf(key: string, what: string, ...candidates: readonly (string | null)[]): string {
  if (!isDigest(key)) return key;
  const name = candidates.find((candidate) => candidate !== null && toKey(candidate) === key);
  if (typeof name === 'string') return name;
  throw new StateTransferError(
    `The database has a ${what} whose name it stores only as a digest, so that it cannot be moved.`,
  );
}

/** The id that the body of a stored response says; null without a body. */
export function idOf(body: string | null): string | null {
  return body === null ? null : (JSON.parse(body) as { readonly id: string }).id;
}
