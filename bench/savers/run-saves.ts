import type { ResponseRecord } from 'antiphon';

import type { SaveJob, SaveOutcome } from './job.ts';
import { makeConversation } from './make-conversation.ts';

/** One save that has only to be sent. */
export type Save = () => unknown;

/** Says that it is ready, and does the jobs that the benchmark sends. What a save needs is made before the clock runs. */
export function runSaves(prepare: (record: ResponseRecord) => Save): void {
  process.on('message', (message: SaveJob | { readonly type: 'usage' }) => {
    // A save that fails ends the process, and with it the benchmark: its figures would mean nothing.
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
