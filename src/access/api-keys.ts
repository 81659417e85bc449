import { createHash, timingSafeEqual } from 'node:crypto';

import { digestOfKey } from '../config/index.js';
import { asOwner, type Owner } from './owner.js';

interface KnownKey {
  readonly owner: Owner;
  readonly digest: Buffer;
}

/** The keys of API_KEYS. Only digests of them are kept. */
export class ApiKeys {
  private readonly keys: readonly KnownKey[];

  /** `entries` are `tenant:key` or `tenant:sha256:<hex>`, checked before. */
  constructor(entries: readonly string[]) {
    this.keys = entries.map((entry) => {
      const colon = entry.indexOf(':');
      return { owner: asOwner(entry.slice(0, colon)), digest: digestOfKey(entry.slice(colon + 1)) };
    });
  }

  get size(): number {
    return this.keys.length;
  }

  /** The owner of a key. Looks at every key whether or not one fits, so that time tells nothing. */
  ownerOf(key: string): Owner | undefined {
    const digest = createHash('sha256').update(key).digest();
    let owner: Owner | undefined;
    for (const known of this.keys) if (timingSafeEqual(digest, known.digest)) owner = known.owner;
    return owner;
  }
}
