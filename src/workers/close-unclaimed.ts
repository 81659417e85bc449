import type { ChildProcess } from 'node:child_process';

/** A message of node:cluster. One that brings a connection has a number, with which the worker acknowledges it. */
interface ClusterMessage {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

interface Closable {
  close(): void;
}

/**
 * Closes the connection that was on its way to a worker when the worker died. Node (24.21) forgets it: the client of one that
 * went to a worker which hung would wait for ever.
 */
export function closeUnclaimed(worker: ChildProcess): void {
  const unclaimed = new Map<number | undefined, Closable>();
  const send = worker.send.bind(worker) as (message: ClusterMessage, ...others: readonly unknown[]) => boolean;
  worker.send = (message: ClusterMessage, handle?: unknown, ...others: readonly unknown[]) => {
    // Other handles are the port itself, which all workers share.
    if (message.act === 'newconn') unclaimed.set(message.seq, handle as Closable);
    return send(message, handle, ...others);
  };
  worker.on('internalMessage', ({ ack }: ClusterMessage) => unclaimed.delete(ack));
  worker.once('exit', () => {
    for (const connection of unclaimed.values()) connection.close();
  });
}
