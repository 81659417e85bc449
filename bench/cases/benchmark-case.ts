import type { Figure, Rounds } from '../measure.ts';

/** How large a run is. */
export interface Sizes extends Rounds {
  /** Streams that run side by side. */
  readonly streams: number;
  /** Most of them, where the case chooses how many. */
  readonly mostStreams: number;
  /** Turns of each stream in one round. */
  readonly turnsPerStream: number;
  /** Text deltas in an answer, where the case chooses them. */
  readonly deltas: number;
  /** Turns of the longest conversation. */
  readonly chain: number;
  /** Responses that are saved in one round. */
  readonly saves: number;
  /** Rounds of each side that count, where one takes seconds. */
  readonly longRounds: number;
  /** Requests of one round whose latency is measured. */
  readonly requests: number;
}

/** One thing that was compared. */
export interface Comparison {
  readonly name: string;
  readonly figures: readonly Figure[];
}

/**
 * One question to the service. A case starts what it needs, ends it again, and compares with a floor in the same run; it is
 * listed in `index.ts`.
 */
export interface BenchmarkCase {
  /** As `--case` takes it. */
  readonly name: string;
  run(sizes: Sizes): Promise<readonly Comparison[]>;
}
