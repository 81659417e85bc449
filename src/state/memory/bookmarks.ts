import { estimateBytes } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { BOOKMARK_MS } from '../bookmark.js';

/** The entry of a map and its members. */
const ENTRY_BYTES = 100;

interface Entry<Place> {
  readonly place: Place;
  /** Milliseconds since the epoch. */
  readonly goneAt: number;
  readonly bytes: number;
}

/** How much is remembered: the oldest is forgotten first. */
interface BookmarkLimits {
  readonly entries: number;
  readonly bytes: number;
}

/** Where entries of lists stood, for BOOKMARK_MS after they are gone, within limits. */
export class Bookmarks<Place> {
  private readonly entries = new Map<string, Entry<Place>>();
  private total = 0;

  constructor(
    private readonly clock: Clock,
    private readonly limits: BookmarkLimits,
  ) {}

  /** Estimated bytes. */
  get bytes(): number {
    return this.total;
  }

  /** Remembers a place that was left at a time, ms since the epoch. */
  set(name: string, place: Place, goneAt = this.clock.now()): void {
    this.forget(name);
    const bytes = ENTRY_BYTES + estimateBytes([name, place]);
    this.entries.set(name, { place, goneAt, bytes });
    this.total += bytes;
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.limits.entries && this.total <= this.limits.bytes) return;
      this.forget(oldest);
    }
  }

  find(name: string): Place | undefined {
    const found = this.entries.get(name);
    return found !== undefined && found.goneAt > this.oldest() ? found.place : undefined;
  }

  /** Forgets those that are too old. */
  purge(): void {
    const oldest = this.oldest();
    for (const [name, { goneAt }] of this.entries) if (goneAt <= oldest) this.forget(name);
  }

  /** Forgets all of them. */
  clear(): void {
    this.entries.clear();
    this.total = 0;
  }

  private forget(name: string): void {
    this.total -= this.entries.get(name)?.bytes ?? 0;
    this.entries.delete(name);
  }

  private oldest(): number {
    return this.clock.now() - BOOKMARK_MS;
  }
}
