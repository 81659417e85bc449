import type { Tenant } from '../../access/index.js';

/** What a seal is for. One made for another purpose is not opened. */
export type SealPurpose = 'compaction' | 'credentials' | 'reasoning' | 'reasoning with data' | 'socket';

/**
 * What comes of opening a seal: its text; `altered` if a key of the ring has made it, but it was changed, or made for another tenant or
 * purpose; `foreign` if no key of the ring has: another service has made it, or a key that is gone.
 */
export type OpenedSeal = { readonly text: string } | 'altered' | 'foreign';

/**
 * Seals texts that clients keep for the service: encrypted and authenticated with AES-256-GCM, bound to a tenant and a
 * purpose. The first key seals, all keys open.
 */
export abstract class KeyRing {
  /** The sealed text, for `encrypted_content`. */
  abstract seal(tenant: Tenant, purpose: SealPurpose, text: string): string;

  /** Opens a seal. */
  abstract open(tenant: Tenant, purpose: SealPurpose, sealed: string): OpenedSeal;

  /** Whether a seal names a key of the ring, altered or not. */
  abstract knows(sealed: string): boolean;
}
