import type { ChildProcess } from 'node:child_process';

/** A message of node:cluster. A message with a connection has a number, which the worker acknowledges. */
interface ClusterMessage {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

interface Closable {
  close(): void;
}

/**
 * Closes connections that were being passed to a worker when it exited. Node (24.21) drops them, so that a client would
 * wait indefinitely.
 */
export function closeUnclaimed(worker: ChildProcess): void {
  const unclaimed = new Map<number | undefined, Closable>();
  const send = worker.send.bind(worker) as (message: ClusterMessage, ...others: readonly unknown[]) => boolean;
  worker.send = (message: ClusterMessage, handle?: unknown, ...others: readonly unknown[]) => {
    // Other handles are the listening port, which all workers share.
    if (message.act === 'newconn') unclaimed.set(message.seq, handle as Closable);
    return send(message, handle, ...others);
  };
  worker.on('internalMessage', ({ ack }: ClusterMessage) => unclaimed.delete(ack));
  worker.once('exit', () => {
    for (const connection of unclaimed.values()) connection.close();
  });
}
