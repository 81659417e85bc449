import { createHash } from 'node:crypto';

/** Longest text that is used as a key unchanged, characters: an index entry of PostgreSQL holds less than 2.7 kB, and Redis keeps keys in memory. */
const MAX_LENGTH = 256;
/** The prefix of a digest, so that no text equals the digest of another one. Session names never begin with it. */
const DIGEST_MARK = ' ';

/**
 * A text of any length and content as a key of a database. Most are unchanged; long ones, and those with NUL or lone surrogates, which
 * PostgreSQL cannot store and UTF-8 cannot tell apart, are replaced by their digest.
 */
export function toKey(text: string): string {
  const isPlain = text.length <= MAX_LENGTH && !text.startsWith(DIGEST_MARK) && !text.includes('\0');
  if (isPlain && text.isWellFormed()) return text;
  // UTF-16: in UTF-8 all lone surrogates are the same.
  return DIGEST_MARK + createHash('sha256').update(text, 'utf16le').digest('base64url');
}

/** Metadata pairs as keys, so that a search by tenant, name and value is one index look-up. */
export function toLabels(tenant: string, metadata: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(metadata).map(([name, value]) =>
    createHash('sha256')
      .update(JSON.stringify([tenant, name, value]), 'utf16le')
      .digest('base64url'),
  );
}

/** Whether a key is the digest of a text, which cannot be read back. */
export function isDigest(key: string): boolean {
  return key.startsWith(DIGEST_MARK);
}
