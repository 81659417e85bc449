import { createHash, timingSafeEqual } from 'node:crypto';

import { asOwner, type Owner } from './owner.js';

interface KnownKey {
  readonly owner: Owner;
  readonly digest: Buffer;
}

/** The keys of API_KEYS. Only digests are kept, so a dump of the memory shows no key. */
export class ApiKeys {
  private readonly keys: readonly KnownKey[];

  /** `entries` are `tenant:key` or `tenant:sha256:<hex>`, checked before. */
  constructor(entries: readonly string[]) {
    this.keys = entries.map((entry) => {
      const colon = entry.indexOf(':');
      const key = entry.slice(colon + 1);
      const digest = /^sha256:/i.test(key) ? Buffer.from(key.slice('sha256:'.length), 'hex') : digestOf(key);
      return { owner: asOwner(entry.slice(0, colon)), digest };
    });
  }

  get size(): number {
    return this.keys.length;
  }

  /** The owner of a key. Looks at every key whether or not one fits, so that time tells nothing. */
  ownerOf(key: string): Owner | undefined {
    const digest = digestOf(key);
    let owner: Owner | undefined;
    for (const known of this.keys) if (timingSafeEqual(digest, known.digest)) owner = known.owner;
    return owner;
  }
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
