/** What counts for a server unless its operator says otherwise. */
export const DEFAULTS = {
  connectMs: 10_000,
  listMs: 30_000,
  callMs: 60_000,
  idleMs: 5 * 60_000,
  maxConnections: 100,
  maxRequests: 64,
  maxResponseBytes: 4 * 1024 * 1024,
  listMaxAgeMs: 60 * 60_000,
} as const;
