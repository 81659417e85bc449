import { createHash } from 'node:crypto';

/** Longest text that is a key as it is, characters: an index entry of PostgreSQL holds less than 2.7 kB. */
const MAX_LENGTH = 256;
/** What marks a digest, so that no text can pass for the digest of another one. Names of sessions never begin with it. */
const DIGEST_MARK = ' ';

/**
 * A text of any length and any characters as a key of a column. Most are what they are; PostgreSQL cannot hold NUL and lone
 * surrogates, and cannot index long texts, so those become their digest.
 */
export function toKey(text: string): string {
  const isPlain = text.length <= MAX_LENGTH && !text.startsWith(DIGEST_MARK) && !text.includes('\0');
  if (isPlain && text.isWellFormed()) return text;
  // UTF-16, because UTF-8 would make all lone surrogates the same.
  return DIGEST_MARK + createHash('sha256').update(text, 'utf16le').digest('base64url');
}

/** Pairs of metadata as keys: what is searched by tenant, name and value is one look-up in one index. */
export function toLabels(tenant: string, metadata: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(metadata).map(([name, value]) =>
    createHash('sha256')
      .update(JSON.stringify([tenant, name, value]), 'utf16le')
      .digest('base64url'),
  );
}
