import { Injectable } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { type DeletionListener, DeletionNotices } from '../state/index.js';
import { ContinuationCache } from './continuation-cache.js';
import { RecentResponses } from './recent-responses.js';

/** How many times the estimated bytes of a context its stored text may have: characters that are escaped in JSON. */
const LARGEST_RATIO = 3;

/** The caches of all sockets of this process, and that of its turns over HTTP: bounds their sizes and forwards deletions. */
@Injectable()
export class ContinuationCaches implements DeletionListener {
  /** For turns over HTTP. */
  readonly recent: RecentResponses;
  /** Least recently grown first. */
  private readonly caches = new Set<ContinuationCache>();
  /** Look-ups of parents that found them, and those that did not. */
  hits = 0;
  misses = 0;
  private bytes = 0;
  private receivesDeletions = true;

  constructor(
    private readonly environment: Environment,
    notices: DeletionNotices,
  ) {
    this.recent = new RecentResponses({
      maxBytes: environment.CONTEXT_CACHE_BYTES,
      maxContextBytes: environment.CONTEXT_MAX_BYTES / LARGEST_RATIO,
      onLookup: (isHit) => this.note(isHit),
    });
    notices.subscribe(this);
  }

  /** A cache for one connection. Release it with `close`. */
  open(): ContinuationCache {
    const cache: ContinuationCache = new ContinuationCache({
      maxBytes: this.environment.WS_CACHE_MAX_BYTES,
      onChange: (change) => this.account(cache, change),
      onLookup: (isHit) => this.note(isHit),
      remembersStored: () => this.receivesDeletions,
    });
    this.caches.add(cache);
    return cache;
  }

  /** Bytes of all caches, estimated. */
  get size(): number {
    return this.bytes + this.recent.bytes;
  }

  close(cache: ContinuationCache): void {
    cache.close();
    this.caches.delete(cache);
  }

  /** Deleted responses cannot be continued. */
  deleted(responseIds: readonly string[]): void {
    const gone = new Set(responseIds);
    for (const cache of this.caches) cache.forget(gone);
    this.recent.forget(gone);
  }

  /** While deletion notices do not arrive, stored responses are always read from the store. */
  interrupted(): void {
    this.receivesDeletions = false;
    for (const cache of this.caches) cache.forgetStored();
    this.recent.interrupt();
  }

  resumed(): void {
    this.receivesDeletions = true;
    this.recent.resume();
  }

  private note(isHit: boolean): void {
    if (isHit) this.hits += 1;
    else this.misses += 1;
  }

  private account(cache: ContinuationCache, change: number): void {
    this.bytes += change;
    if (change < 0 || !this.caches.delete(cache)) return;
    this.caches.add(cache);
    this.makeRoom();
  }

  /** Shrinks the caches that have not grown for longest. */
  private makeRoom(): void {
    for (const cache of [...this.caches]) {
      const excess = this.bytes - this.environment.WS_CACHE_TOTAL_BYTES;
      if (excess <= 0) return;
      cache.shrinkTo(cache.bytes - excess);
    }
  }
}
