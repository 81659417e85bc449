/** Maximum number of keys; the oldest one is evicted. */
const MOST_KEYS = 10_000;

/** Counts occurrences by key. */
export class KeyCounts {
  private readonly counts = new Map<string, number>();

  /** Returns the count and increments it. */
  next(key: string): number {
    const count = this.count(key);
    this.set(key, count + 1);
    return count;
  }

  count(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  set(key: string, count: number): void {
    this.counts.set(key, count);
    if (this.counts.size <= MOST_KEYS) return;
    for (const oldest of this.counts.keys()) {
      this.counts.delete(oldest);
      return;
    }
  }
}
