import type { Environment } from './environment.js';

type ShutdownTimes = Pick<Environment, 'SHUTDOWN_DELAY_MS' | 'DRAIN_TIMEOUT_MS' | 'SHUTDOWN_MARGIN_MS'>;

/** How long a shutdown of a process may take, ms. */
export function longestShutdownMs({ SHUTDOWN_DELAY_MS, DRAIN_TIMEOUT_MS, SHUTDOWN_MARGIN_MS }: ShutdownTimes): number {
  // Longer delays than Node's timers have would fire at once.
  return Math.min(SHUTDOWN_DELAY_MS + DRAIN_TIMEOUT_MS + SHUTDOWN_MARGIN_MS, LONGEST_MS);
}

/** Leaves a second for the limit that a supervisor adds. */
const LONGEST_MS = 2_147_483_647 - 1000;
