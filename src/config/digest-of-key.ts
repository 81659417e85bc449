import { createHash } from 'node:crypto';

/** The SHA-256 of a key, given as text or as `sha256:<hex>`. */
export function digestOfKey(key: string): Buffer {
  if (/^sha256:/i.test(key)) return Buffer.from(key.slice('sha256:'.length), 'hex');
  return createHash('sha256').update(key).digest();
}
