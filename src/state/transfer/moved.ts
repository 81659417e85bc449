/** How much was moved. */
export interface Moved {
  readonly tenants: number;
  readonly conversations: number;
  readonly responses: number;
  readonly files: number;
  /** Vector stores. */
  readonly stores: number;
  readonly jobs: number;
}

const COUNTED: ReadonlySet<string> = new Set(['conversation', 'response', 'file', 'store', 'job']);

/** After how many records the progress is reported. */
const PROGRESS = 10_000;

/** Counts what is moved, and reports it from time to time. */
export class MovedCounts {
  private counts = { tenants: 0, conversations: 0, responses: 0, files: 0, stores: 0, jobs: 0 };

  constructor(private readonly onProgress: (moved: Moved) => void = () => undefined) {}

  get moved(): Moved {
    return { ...this.counts };
  }

  count(what: keyof Moved): void {
    this.counts[what] += 1;
    const { tenants: _, ...counted } = this.counts;
    const sum = Object.values(counted).reduce((total, each) => total + each, 0);
    if (what !== 'tenants' && sum % PROGRESS === 0) this.onProgress(this.moved);
  }
}

/** Whether a line is counted under the name of its kind. */
export function isCounted<L extends { readonly kind: string }>(
  line: L,
): line is L & { readonly kind: 'conversation' | 'response' | 'file' | 'store' | 'job' } {
  return COUNTED.has(line.kind);
}
