import type { Clock } from '../time/index.js';

/** Kinds that are counted apart; further ones share a count, because kinds may contain text of clients. */
const MOST_KINDS = 100;

/** The kind that stands for all beyond MOST_KINDS. */
const OTHERS = 'other lines';

/** The limits of a LineBudget, and what is done about lines beyond them. */
export interface LineBudgetOptions {
  /** Lines of a kind that are logged per window. */
  readonly lines: number;
  /** Length of a window, ms. It begins with a line. */
  readonly windowMs: number;
  /** Called at the end of a window in which lines of a kind were left out, with their number. */
  readonly report: (kind: string, leftOut: number) => void;
}

/** What is logged at most of anything that clients can cause. */
export const FLOOD_LIMIT = { lines: 20, windowMs: 1000 } as const;

/** Bounds the lines that a flood of events or an outage would log: the first of each window, then a count. */
export class LineBudget {
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly options: LineBudgetOptions,
    private readonly clock: Clock,
  ) {}

  /** Whether a line of this kind may be logged. If not, it is counted. */
  admits(kind: string): boolean {
    const key = this.counts.has(kind) || this.counts.size < MOST_KINDS ? kind : OTHERS;
    const count = this.counts.get(key) ?? 0;
    this.counts.set(key, count + 1);
    if (count === 0) this.clock.schedule(this.options.windowMs, () => this.end(key));
    return count < this.options.lines;
  }

  private end(kind: string): void {
    const leftOut = (this.counts.get(kind) ?? 0) - this.options.lines;
    this.counts.delete(kind);
    if (leftOut > 0) this.options.report(kind, leftOut);
  }
}
