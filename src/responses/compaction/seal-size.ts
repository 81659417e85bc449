import { MAX_SEAL_CHARACTERS } from '../../protocol/index.js';

/** For the prefix of a seal, its key id, nonce and tag, and the other members of the item. */
const OVERHEAD_CHARACTERS = 512;

/** UTF-8 bytes that fit into a seal of so many characters, or of as many as the service takes back. */
export function bytesOfSeal(characters: number): number {
  // Base64 needs four characters for three bytes.
  return Math.floor(((Math.min(characters, MAX_SEAL_CHARACTERS) - OVERHEAD_CHARACTERS) * 3) / 4);
}
