import { quotesKnownSecret } from '../redact.js';

/** The header, and the member of `client_metadata`, with an upstream's token that belongs to one turn of a client. */
export const TURN_STATE = 'x-codex-turn-state';

/** What every server and client can send back in a header. */
const TOKEN = /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/;

/** A turn state from an upstream or a client; null for what cannot be sent back in a header, for what quotes a secret, and for none. */
export function readTurnState(value: unknown, secrets: readonly string[] = []): string | null {
  return typeof value === 'string' && TOKEN.test(value) && !quotesKnownSecret(value, secrets) ? value : null;
}
