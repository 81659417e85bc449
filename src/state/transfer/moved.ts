/** How much was moved. */
export interface Moved {
  readonly tenants: number;
  readonly conversations: number;
  readonly responses: number;
  readonly files: number;
  readonly jobs: number;
}

/** Counts what is moved, and reports it from time to time. */
export class Tally {
  private counts = { tenants: 0, conversations: 0, responses: 0, files: 0, jobs: 0 };

  constructor(
    private readonly every: number,
    private readonly onProgress: (moved: Moved) => void = () => undefined,
  ) {}

  get moved(): Moved {
    return { ...this.counts };
  }

  count(what: keyof Moved): void {
    this.counts[what] += 1;
    const { conversations, responses, files, jobs } = this.counts;
    if (what !== 'tenants' && (conversations + responses + files + jobs) % this.every === 0)
      this.onProgress(this.moved);
  }
}
