import { LONGEST_DELAY_MS } from '../time/index.js';
import type { Environment } from './environment.js';

type ShutdownTimes = Pick<Environment, 'SHUTDOWN_DELAY_MS' | 'DRAIN_TIMEOUT_MS' | 'SHUTDOWN_MARGIN_MS'>;

/** How long a shutdown of a process may take, ms. */
export function longestShutdownMs({ SHUTDOWN_DELAY_MS, DRAIN_TIMEOUT_MS, SHUTDOWN_MARGIN_MS }: ShutdownTimes): number {
  // Longer delays than Node's timers have would fire at once.
  return Math.min(SHUTDOWN_DELAY_MS + DRAIN_TIMEOUT_MS + SHUTDOWN_MARGIN_MS, LONGEST_MS);
}

/** Leaves a second for the limit that a supervisor adds. */
const LONGEST_MS = LONGEST_DELAY_MS - 1000;

/** The exit code of a process that a second Ctrl+C has ended, as shells count signals. */
export const INTERRUPTED = 130;

/** What a first Ctrl+C is answered with. */
export function describeShutdown({ SHUTDOWN_DELAY_MS, DRAIN_TIMEOUT_MS }: ShutdownTimes): string {
  const seconds = Math.ceil((SHUTDOWN_DELAY_MS + DRAIN_TIMEOUT_MS) / 1000);
  return `stopping: running turns may take up to ${seconds} s to end; Ctrl+C again stops now`;
}
