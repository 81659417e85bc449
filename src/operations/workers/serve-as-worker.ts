import cluster from 'node:cluster';

/** A message from a worker to the primary process, sent once. Programs may send other messages over the same channel. */
export type WorkerMessage =
  | { readonly type: 'antiphon.listening'; readonly url: string }
  | { readonly type: 'antiphon.failed'; readonly reason: string };

/**
 * Serves in a worker. Reports its URL to the primary process or, as text from `describe`, why it cannot start. If the
 * primary exits, the worker shuts down gracefully.
 */
export async function serveAsWorker(serve: () => Promise<string>, describe: (error: unknown) => string): Promise<void> {
  const { worker } = cluster;
  worker?.once('disconnect', () => {
    // Otherwise Node would end the worker immediately, with all its turns.
    worker.exitedAfterDisconnect = true;
    process.kill(process.pid, 'SIGTERM');
  });
  // Node writes to the primary with every connection that it gets from it; when the primary is gone, that fails before
  // the worker is disconnected. The connection is served all the same. Node gives errors of the channel to the `Worker`.
  worker?.on('error', ignoreLostPrimary);
  try {
    await tell({ type: 'antiphon.listening', url: await serve() });
  } catch (error) {
    await tell({ type: 'antiphon.failed', reason: describe(error) });
    process.exit(1);
  }
}

/** Errors of a worker are those of its channel to the primary; a disconnect follows. */
function ignoreLostPrimary(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_IPC_CHANNEL_CLOSED') throw error;
}

/** Resolves when the message is sent, which an earlier exit would prevent, or cannot be sent. */
function tell(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => void process.send?.(message, () => resolve()));
}
