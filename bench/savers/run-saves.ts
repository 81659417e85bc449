import type { ResponseRecord } from 'antiphon';

import type { SaveJob, SaveOutcome } from './job.ts';
import { makeConversation } from './make-conversation.ts';

/** A prepared save. */
export type Save = () => unknown;

/** Reports that it is ready, then runs jobs. Saves are prepared before the time is measured. */
export function runSaves(prepare: (record: ResponseRecord) => Save): void {
  process.on('message', (message: SaveJob | { readonly type: 'usage' }) => {
    // A failed save ends the process, and with it the benchmark, because its figures would be invalid.
    if (message.type === 'save') void run(message, prepare).then((outcome) => process.send?.(outcome));
  });
  process.send?.({ type: 'ready' });
}

async function run(job: SaveJob, prepare: (record: ResponseRecord) => Save): Promise<SaveOutcome> {
  const conversations = Array.from({ length: job.conversations }, () => makeConversation(job).map(prepare));
  const start = performance.now();
  await Promise.all(
    conversations.map(async (saves) => {
      for (const save of saves) await save();
    }),
  );
  return { type: 'save', seconds: (performance.now() - start) / 1000 };
}
