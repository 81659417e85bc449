import cluster from 'node:cluster';

import type { WorkerMessage } from './worker-message.js';

/**
 * Serves in a worker: tells the primary process where it listens or, in the words of `describe`, why it cannot, and ends in
 * order when the primary is gone.
 */
export async function serveAsWorker(serve: () => Promise<string>, describe: (error: unknown) => string): Promise<void> {
  const { worker } = cluster;
  worker?.once('disconnect', () => {
    // Otherwise Node would end the worker here and now, with all its turns.
    worker.exitedAfterDisconnect = true;
    process.kill(process.pid, 'SIGTERM');
  });
  try {
    await tell({ type: 'antiphon.listening', url: await serve() });
  } catch (error) {
    await tell({ type: 'antiphon.failed', reason: describe(error) });
    process.exit(1);
  }
}

/** Resolves when the message is on its way, which a process that exits before would take along, or nobody is left to hear it. */
function tell(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => void process.send?.(message, () => resolve()));
}
