import { Injectable } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { type DeletionListener, DeletionNotices } from '../state/index.js';
import { ContinuationCache } from './continuation-cache.js';

/** The memories of all connections of this process: what they hold together is bounded, and a deletion reaches all. */
@Injectable()
export class ContinuationCaches implements DeletionListener {
  /** Least recently grown first. */
  private readonly caches = new Set<ContinuationCache>();
  private bytes = 0;
  private hearsDeletions = true;

  constructor(
    private readonly environment: Environment,
    notices: DeletionNotices,
  ) {
    notices.subscribe(this);
  }

  /** A cache for one connection. Give it back with `close`. */
  open(): ContinuationCache {
    const cache: ContinuationCache = new ContinuationCache({
      maxBytes: this.environment.WS_CACHE_MAX_BYTES,
      onChange: (change) => this.account(cache, change),
      keepsStored: () => this.hearsDeletions,
    });
    this.caches.add(cache);
    return cache;
  }

  close(cache: ContinuationCache): void {
    cache.close();
    this.caches.delete(cache);
  }

  /** No connection may go on from a response that is gone. */
  deleted(responseIds: readonly string[]): void {
    const gone = new Set(responseIds);
    for (const cache of this.caches) cache.forget(gone);
  }

  /** What may be deleted without our hearing of it is looked up in the store each time. */
  interrupted(): void {
    this.hearsDeletions = false;
    for (const cache of this.caches) cache.forgetStored();
  }

  resumed(): void {
    this.hearsDeletions = true;
  }

  private account(cache: ContinuationCache, change: number): void {
    this.bytes += change;
    if (change < 0 || !this.caches.delete(cache)) return;
    this.caches.add(cache);
    this.makeRoom();
  }

  /** Takes from those that have not grown for longest. */
  private makeRoom(): void {
    for (const cache of [...this.caches]) {
      const excess = this.bytes - this.environment.WS_CACHE_TOTAL_BYTES;
      if (excess <= 0) return;
      cache.shrinkTo(cache.bytes - excess);
    }
  }
}
