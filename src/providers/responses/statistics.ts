/** Counts what happens to the requests of a provider and to the events of its upstream, since the process began. */
export class Statistics {
  private readonly byName = new Map<string, number>();

  /** Adds one to a count. */
  count(name: string): void {
    this.byName.set(name, (this.byName.get(name) ?? 0) + 1);
  }

  /** The counts by name, without those that are zero. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.byName);
  }
}
