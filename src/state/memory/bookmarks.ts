import type { Clock } from '../../time/index.js';
import { BOOKMARK_MS } from '../bookmark.js';

/** Where entries of lists stood, for BOOKMARK_MS after they are gone. At most so many: the oldest are forgotten first. */
export class Bookmarks<Place> {
  private readonly places = new Map<string, { readonly place: Place; readonly goneAt: number }>();

  constructor(
    private readonly clock: Clock,
    private readonly capacity: number,
  ) {}

  /** Remembers a place that was left at a time, ms since the epoch. */
  set(name: string, place: Place, goneAt = this.clock.now()): void {
    this.places.delete(name);
    this.places.set(name, { place, goneAt });
    if (this.places.size > this.capacity) this.places.delete(this.places.keys().next().value ?? '');
  }

  find(name: string): Place | undefined {
    const found = this.places.get(name);
    return found !== undefined && found.goneAt > this.oldest() ? found.place : undefined;
  }

  /** Forgets those that are too old. */
  purge(): void {
    const oldest = this.oldest();
    for (const [name, { goneAt }] of this.places) if (goneAt <= oldest) this.places.delete(name);
  }

  private oldest(): number {
    return this.clock.now() - BOOKMARK_MS;
  }
}
