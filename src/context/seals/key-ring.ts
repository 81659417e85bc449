import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

import type { Tenant } from '../../access/index.js';

/** How every seal of this form begins; clients can tell ours from those of others. */
const SEAL_PREFIX = 'antiphon1_';
const ALGORITHM = 'aes-256-gcm';
const ID_BYTES = 4;
/** Characters of base64url that hold the id. */
const ID_CHARACTERS = 6;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const OVERHEAD = ID_BYTES + NONCE_BYTES + TAG_BYTES;

interface Key {
  /** Tells which key has sealed a text; says nothing of the key. */
  readonly id: Buffer;
  readonly secret: KeyObject;
}

/** What a seal is for. One made for another purpose is not opened. */
export type SealPurpose = 'compaction' | 'credentials' | 'reasoning' | 'reasoning with data' | 'socket';

/**
 * What comes of opening a seal: its text; `altered` if a key of the ring has made it, but it was changed, or made for another tenant or
 * purpose; `foreign` if no key of the ring has: another service has made it, or a key that is gone.
 */
export type OpenedSeal = { readonly text: string } | 'altered' | 'foreign';

/**
 * Seals texts that clients keep for the service: encrypted and authenticated with AES-256-GCM. The first key seals, all keys open. A seal
 * is SEAL_PREFIX and the base64url of key id, nonce, ciphertext and tag. Each tenant and purpose has a key of its own, derived from that of
 * the ring, so that no other one opens its seals.
 */
export class KeyRing {
  private readonly keys: readonly [Key, ...Key[]];

  /** Keys of 32 bytes; the first one seals. */
  constructor([first, ...others]: readonly [Buffer, ...Buffer[]]) {
    this.keys = [toKey(first), ...others.map(toKey)];
  }

  /** The sealed text, for `encrypted_content`. */
  seal(tenant: Tenant, purpose: SealPurpose, text: string): string {
    const [{ id, secret }] = this.keys;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, derive(secret, tenant, purpose), nonce, { authTagLength: TAG_BYTES });
    const parts = [id, nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return SEAL_PREFIX + Buffer.concat(parts).toString('base64url');
  }

  /** Opens a seal. */
  open(tenant: Tenant, purpose: SealPurpose, sealed: string): OpenedSeal {
    const makers = this.makersOf(sealed);
    if (makers.length === 0) return 'foreign';
    const encoded = sealed.slice(SEAL_PREFIX.length);
    const bytes = Buffer.from(encoded, 'base64url');
    // Buffer skips what is not base64url: a seal has one spelling only.
    if (bytes.byteLength < OVERHEAD || bytes.toString('base64url') !== encoded) return 'altered';
    for (const { secret } of makers) {
      const text = decrypt(derive(secret, tenant, purpose), bytes);
      if (text !== undefined) return { text };
    }
    return 'altered';
  }

  /** Whether a seal names a key of the ring, altered or not. */
  knows(sealed: string): boolean {
    return this.makersOf(sealed).length > 0;
  }

  /** The keys with the id in a seal: mostly one or none. */
  private makersOf(sealed: string): readonly Key[] {
    if (!sealed.startsWith(SEAL_PREFIX)) return [];
    const start = sealed.slice(SEAL_PREFIX.length, SEAL_PREFIX.length + ID_CHARACTERS);
    const id = Buffer.from(start, 'base64url').subarray(0, ID_BYTES);
    return this.keys.filter((key) => id.equals(key.id));
  }
}

function toKey(bytes: Buffer): Key {
  // A KeyObject shows nothing of itself in a log.
  const secret = createSecretKey(bytes);
  return { id: createHmac('sha256', secret).update('key id').digest().subarray(0, ID_BYTES), secret };
}

function derive(secret: KeyObject, tenant: Tenant, purpose: SealPurpose): Buffer {
  return createHmac('sha256', secret)
    .update(JSON.stringify([SEAL_PREFIX, purpose, tenant]))
    .digest();
}

function decrypt(key: Buffer, bytes: Buffer): string | undefined {
  const nonce = bytes.subarray(ID_BYTES, ID_BYTES + NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const plain = decipher.update(bytes.subarray(ID_BYTES + NONCE_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([plain, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/** Whether a text has the form of a seal of this service, of whatever key. */
export function isOwnSeal(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith(SEAL_PREFIX);
}
