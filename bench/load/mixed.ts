import { CLIENTS } from './mixed-clients.ts';
import type { MixedJob, MixedOutcome } from './mixed-job.ts';

/** Concurrent clients of each kind. */
const OF_EACH_KIND = 2;

/** Runs clients of all kinds concurrently. Rejects on a wrong answer. */
export async function runMixed({ origin, milliseconds }: MixedJob): Promise<MixedOutcome> {
  const end = performance.now() + milliseconds;
  let turns = 0;
  const goOn = async (client: (typeof CLIENTS)[number]): Promise<void> => {
    while (performance.now() < end) {
      const made = await client(`${origin}/v1/responses`);
      turns += made;
    }
  };
  await Promise.all(CLIENTS.flatMap((client) => Array.from({ length: OF_EACH_KIND }, () => goOn(client))));
  return { turns };
}
