/** What can go wrong on purpose. */
export const FAULT_KINDS = [
  'rate_limit',
  'server_error',
  'unavailable',
  'slow_start',
  'stall',
  'cut',
  'upstream_cut',
  'malformed',
] as const;

/** One of FAULT_KINDS. */
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Share of the turns, 0 to 1, that each kind befalls. */
export type FaultRates = Readonly<Partial<Record<FaultKind, number>>>;
