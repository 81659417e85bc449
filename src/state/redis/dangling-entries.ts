import type { Clock } from '../../time/index.js';
import type { Redis } from './redis.js';

/** A save may be between its commands for no longer, ms: until then what an index names may be about to be stored. */
export const CERTAIN_MS = 60_000;
/** Most entries that are watched. */
const CAPACITY = 10_000;

/**
 * Removes entries of indexes that name nothing. What is named may be about to be stored, so an entry must have named
 * nothing for a minute.
 */
export class DanglingEntries {
  /** When each was seen first, ms since the epoch; the earliest first. */
  private readonly seen = new Map<string, number>();

  constructor(
    private readonly redis: Redis,
    private readonly clock: Clock,
  ) {}

  /** Takes note of entries of a sorted set that name no response. Old ones are removed in the background. */
  note(index: string, entries: readonly string[]): void {
    const old = entries.filter((entry) => this.isOld(JSON.stringify([index, entry])));
    if (old.length === 0) return;
    // Entries that this fails to remove are noted again by the next read.
    this.redis.write(['ZREM', index, ...old]).catch(() => undefined);
  }

  private isOld(name: string): boolean {
    const now = this.clock.now();
    const since = this.seen.get(name);
    if (since !== undefined && since <= now - CERTAIN_MS) return this.seen.delete(name);
    if (since === undefined && this.seen.size < CAPACITY) this.seen.set(name, now);
    if (this.seen.size === CAPACITY) this.forget(now - CERTAIN_MS);
    return false;
  }

  /** Forgets what nobody has come across again. */
  private forget(before: number): void {
    for (const [name, since] of this.seen) {
      if (since > before) return;
      this.seen.delete(name);
    }
  }
}
