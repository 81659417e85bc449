import { Injectable } from '@nestjs/common';

import type { Owner } from '../access/index.js';
import { Environment } from '../config/index.js';
import { ContinuationCache } from './continuation-cache.js';

/** The memories of all connections of this process: what they hold together is bounded, and a deletion reaches all. */
@Injectable()
export class ContinuationCaches {
  /** With their owners, least recently grown first. */
  private readonly caches = new Map<ContinuationCache, Owner>();
  private bytes = 0;

  constructor(private readonly environment: Environment) {}

  /** A cache for one connection of an owner. Give it back with `close`. */
  open(owner: Owner): ContinuationCache {
    const cache: ContinuationCache = new ContinuationCache({
      maxBytes: this.environment.WS_CACHE_MAX_BYTES,
      onChange: (change) => this.account(cache, change),
    });
    this.caches.set(cache, owner);
    return cache;
  }

  close(cache: ContinuationCache): void {
    cache.close();
    this.caches.delete(cache);
  }

  /** A response was deleted: no connection of its owner may go on from it. */
  forget(owner: Owner, responseId: string): void {
    for (const [cache, its] of this.caches) if (its === owner) cache.forget(responseId);
  }

  private account(cache: ContinuationCache, change: number): void {
    this.bytes += change;
    const owner = this.caches.get(cache);
    if (change < 0 || owner === undefined) return;
    this.caches.delete(cache);
    this.caches.set(cache, owner);
    this.makeRoom();
  }

  /** Takes from those that have not grown for longest. */
  private makeRoom(): void {
    for (const cache of [...this.caches.keys()]) {
      const excess = this.bytes - this.environment.WS_CACHE_TOTAL_BYTES;
      if (excess <= 0) return;
      cache.shrinkTo(cache.bytes - excess);
    }
  }
}
