import type { Figure, Rounds } from '../measure.ts';

/** How large a run is. */
export interface Sizes extends Rounds {
  /** Streams that run side by side. */
  readonly streams: number;
  /** Most of them, where the case looks at several numbers. */
  readonly mostStreams: number;
  /** Turns of each stream in one round. */
  readonly turnsPerStream: number;
  /** Text deltas in an answer, where the case chooses them. */
  readonly deltas: number;
  /** The same of answers that come at a model's own pace. */
  readonly pacedDeltas: number;
  /** Turns of the longest conversation. */
  readonly chain: number;
  /** Agents that work side by side. */
  readonly agents: number;
  /** Responses that are saved in one round. */
  readonly saves: number;
  /** Rounds of each side that count, where one takes seconds. */
  readonly longRounds: number;
  /** How long a service is under load before its memory is looked at for the last time, s. */
  readonly soakSeconds: number;
  /** Requests of one round whose latency is measured. */
  readonly requests: number;
  /** Requests of one round that are answered in one piece. */
  readonly jsonRequests: number;
  /** Turns of one round whose promises and bytes are counted. */
  readonly countedTurns: number;
  /** Requests of one round that are checked, or parsed. */
  readonly validations: number;
  /** Sockets that are open and carry nothing. */
  readonly idleSockets: number;
  /** Rounds of each side that count, where each one starts a program. */
  readonly starts: number;
}

/** What the median of a figure should be. */
export interface Goal {
  readonly figure: string;
  /**
   * Which number of the figure: ratio is service ÷ floor, honest ratio is service ÷ honest floor; difference is service − floor,
   * added is service − direct, service is the service's own, all in the figure's unit.
   */
  readonly of: 'ratio' | 'honest ratio' | 'difference' | 'added' | 'service';
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** One thing that was compared. */
export interface Comparison {
  readonly name: string;
  readonly figures: readonly Figure[];
  /** They are shown, and fail nothing. */
  readonly goals?: readonly Goal[];
}

/**
 * One question to the service. A case starts what it needs, ends it again, and compares with a floor in the same run; it is
 * listed in `index.ts`.
 */
export interface BenchmarkCase {
  /** As `--case` takes it. */
  readonly name: string;
  /** Throws an OptionError when this machine does not allow such a run: asked before the first case begins. */
  requireMachine?(sizes: Sizes): void;
  run(sizes: Sizes): Promise<readonly Comparison[]>;
}
