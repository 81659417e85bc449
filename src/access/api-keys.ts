import { createHash, timingSafeEqual } from 'node:crypto';

import { digestOfKey } from '../config/index.js';
import { asTenant, type Tenant } from './tenant.js';

interface KnownKey {
  readonly tenant: Tenant;
  readonly digest: Buffer;
}

/** The keys of API_KEYS. Only their digests are held in memory. */
export class ApiKeys {
  private readonly keys: readonly KnownKey[];

  /** `entries` are `tenant:key` or `tenant:sha256:<hex>`, already validated. */
  constructor(entries: readonly string[]) {
    this.keys = entries.map((entry) => {
      const colon = entry.indexOf(':');
      return { tenant: asTenant(entry.slice(0, colon)), digest: digestOfKey(entry.slice(colon + 1)) };
    });
  }

  get size(): number {
    return this.keys.length;
  }

  /** The tenant of a key. Compares with every key in constant time, so that timing reveals nothing. */
  tenantOf(key: string): Tenant | undefined {
    const digest = createHash('sha256').update(key).digest();
    let tenant: Tenant | undefined;
    for (const known of this.keys) if (timingSafeEqual(digest, known.digest)) tenant = known.tenant;
    return tenant;
  }
}
