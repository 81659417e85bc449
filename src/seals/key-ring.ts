import type { Tenant } from '../access/index.js';

/** What a seal is for. One made for another purpose is not opened. */
export type SealPurpose = 'compaction' | 'reasoning';

/**
 * Seals texts that clients keep for the service: encrypted and authenticated with AES-256-GCM, bound to a tenant and a
 * purpose. The first key seals, all keys open.
 */
export abstract class KeyRing {
  /** The sealed text, for `encrypted_content`. */
  abstract seal(tenant: Tenant, purpose: SealPurpose, text: string): string;

  /** The text in a seal; undefined if it was altered, or made for another tenant or purpose, by a key that is not known, or by another service. */
  abstract open(tenant: Tenant, purpose: SealPurpose, sealed: string): string | undefined;
}
