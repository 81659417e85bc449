import type { Clock } from '../../time/index.js';

/** How long a process may take to end a background response from outside, ms; after that its run goes on. Reading the longest log takes one second. */
export const HOLD_MS = 10_000;
/** Between attempts to write to a run that another process holds, ms. */
const PAUSE_MS = 10;

/** Repeats a write to a run for as long as another process holds that. */
export async function whenReleased<Reply>(
  clock: Clock,
  write: () => Promise<Reply | 'held'>,
): Promise<Exclude<Reply, 'held'>> {
  for (;;) {
    const reply = await write();
    if (reply !== 'held') return reply as Exclude<Reply, 'held'>;
    await clock.sleep(PAUSE_MS);
  }
}
