/** How long the servers of a state may take to answer, ms: a machine that stands still is no outage. */
export const STATE_PATIENCE_MS = 60_000;
