import type { Sizes } from '../options.ts';
import type { Bench, Start } from './bench.ts';
import type { Sample, Side } from './measure.ts';
import type { Server } from './processes.ts';

/** A case of the benchmark: programs that are compared, and the work that each of its rows gives them. */
export interface Case {
  /** For `--case`. */
  readonly name: string;
  /** The table of docs/benchmark.md that shows it. */
  readonly table: string;
  /** The figures which that table shows beside those with goals. */
  readonly shows?: readonly string[];
  /** What is started, unless a row says otherwise; each program once for all rows. */
  readonly sides?: Sides;
  /** Whether every round starts its programs anew: for what a process does but once, and for memory, which it does not return. */
  readonly isAnew?: boolean;
  /** What each program does before its first round. */
  readonly prepare?: (server: Server, bench: Bench, side: Side) => Promise<unknown>;
  /** By default the usual number; fewer where one takes seconds. */
  readonly rounds?: 'few' | 1;
  /** Rounds before those that are measured: at most so many. */
  readonly warmUps?: 0 | 1;
  readonly rows: (sizes: Sizes) => readonly Row[];
}

/** One comparison. */
export interface Row {
  readonly name: string;
  readonly sides?: Sides;
  /** One round of one side: makes it work, and gives what was counted. All sides do the same unless they have loads of their own. */
  readonly load: Load | Partial<Record<Side, Load>>;
  /** They are shown but do not fail the run. */
  readonly goals?: readonly Goal[];
}

/** What is started for each side. */
export type Sides = Readonly<Partial<Record<Side, Start>>>;

/** A round of one side. */
export type Load = (server: Server, bench: Bench) => Promise<Sample>;

/** A goal for the median of a figure. */
export interface Goal {
  readonly figure: string;
  /**
   * The number of the figure: ratio is service ÷ floor, honest ratio is service ÷ honest floor; difference is service − floor,
   * added is service − direct, and service is the plain value, all in the figure's unit.
   */
  readonly of: 'ratio' | 'honest ratio' | 'difference' | 'added' | 'service';
  readonly atMost?: number;
  readonly atLeast?: number;
}
