import type { Figure, Rounds } from '../measure.ts';

/** Sizes of a run. */
export interface Sizes extends Rounds {
  /** Concurrent streams. */
  readonly streams: number;
  /** Maximum concurrent streams, if the case tries several numbers. */
  readonly mostStreams: number;
  /** Turns per stream and round. */
  readonly turnsPerStream: number;
  /** Text deltas per answer, if the case sets them. */
  readonly deltas: number;
  /** Text deltas per answer at the pace of a model. */
  readonly pacedDeltas: number;
  /** Maximum concurrent streams at the pace of a model. */
  readonly pacedStreams: number;
  /** Stored turns before memory is measured. */
  readonly memoryTurns: number;
  /** Rest after those turns before memory is measured again, s. */
  readonly restSeconds: number;
  /** Turns in the longest chain. */
  readonly chain: number;
  /** Concurrent agents. */
  readonly agents: number;
  /** Saved responses per round. */
  readonly saves: number;
  /** Measured rounds per side, if a round takes seconds. */
  readonly longRounds: number;
  /** Duration of the load before the last measurement of memory, s. */
  readonly soakSeconds: number;
  /** Requests per round with measured latency. */
  readonly requests: number;
  /** Requests per round that are not streamed. */
  readonly jsonRequests: number;
  /** Turns per round for counting promises and bytes, and turns in the background. */
  readonly countedTurns: number;
  /** Requests per round to validate or parse. */
  readonly validations: number;
  /** Idle sockets. */
  readonly idleSockets: number;
  /** Measured rounds per side, if each one starts a program. */
  readonly starts: number;
}

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

/** The figures and goals of one comparison. */
export interface Comparison {
  readonly name: string;
  readonly figures: readonly Figure[];
  /** Goals are shown but do not fail the run. */
  readonly goals?: readonly Goal[];
}

/**
 * A benchmark case. It starts and stops the processes it needs, and compares the service with a floor in the same run. Listed in
 * `index.ts`.
 */
export interface BenchmarkCase {
  /** Name for `--case`. */
  readonly name: string;
  /** Throws an OptionError if this machine does not allow such a run. Called before the first case starts. */
  requireMachine?(sizes: Sizes): void;
  run(sizes: Sizes): Promise<readonly Comparison[]>;
}
