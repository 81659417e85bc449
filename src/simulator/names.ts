/** Provider name of the simulator. */
export const SIMULATOR = 'simulator';

/** Text generators. */
export const GENERATORS = ['random', 'lorem', 'echo', 'fixed', 'sequence'] as const;

/** One of GENERATORS. */
export type GeneratorName = (typeof GENERATORS)[number];

/** Kinds of simulated faults. */
export const FAULT_KINDS = [
  'rate_limit',
  'server_error',
  'unavailable',
  'slow_start',
  'stall',
  'cut',
  'upstream_cut',
  'malformed',
  'timeout',
  'silence',
] as const;

/** One of FAULT_KINDS. */
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Probability of each kind per turn, 0 to 1. */
export type FaultRates = Readonly<Partial<Record<FaultKind, number>>>;
