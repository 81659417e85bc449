import type { Clock, Timer } from '../time/index.js';

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
  /** Budgets with a window that has not ended. The log is the process's, so it is also ended for the whole process. */
  private static readonly counting = new Set<LineBudget>();

  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly options: LineBudgetOptions,
    private readonly clock: Clock,
  ) {}

  /** Ends the windows of all budgets now: reports what was left out of the log before it ends, for example with the process. */
  static endAll(): void {
    for (const budget of LineBudget.counting) for (const kind of budget.windows.keys()) budget.end(kind);
  }

  /** Whether a line of this kind may be logged. If not, it is counted. */
  admits(kind: string): boolean {
    const key = this.windows.has(kind) || this.windows.size < MOST_KINDS ? kind : OTHERS;
    const window = this.windows.get(key) ?? this.begin(key);
    window.lines += 1;
    return window.lines <= this.options.lines;
  }

  private begin(kind: string): Window {
    const window = { lines: 0, timer: this.clock.schedule(this.options.windowMs, () => this.end(kind)) };
    this.windows.set(kind, window);
    LineBudget.counting.add(this);
    return window;
  }

  private end(kind: string): void {
    const { lines = 0, timer } = this.windows.get(kind) ?? {};
    timer?.cancel();
    this.windows.delete(kind);
    if (this.windows.size === 0) LineBudget.counting.delete(this);
    const leftOut = lines - this.options.lines;
    if (leftOut > 0) this.options.report(kind, leftOut);
  }
}

/** The lines of a kind since the first of them. */
interface Window {
  lines: number;
  readonly timer: Timer;
}
