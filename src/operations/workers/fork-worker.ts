import type { ChildProcess } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';

import type { Relay, Sibling, SiblingMessage } from './relay.js';
import type { WorkerMessage } from './serve-as-worker.js';
import { type WorkerExit, type WorkerProcess, WorkerStartError } from './worker-process.js';

/**
 * Starts this program as a worker, with the same arguments and variables, and its number, from 0, in ANTIPHON_WORKER. From when it listens
 * until it exits, the relay passes messages on between it and the others.
 */
export function forkWorker(number: number, relay: Relay): WorkerProcess {
  try {
    return follow(cluster.fork({ ANTIPHON_WORKER: number }), relay);
  } catch (error) {
    return stillborn(error);
  }
}

function follow(worker: Worker, relay: Relay): WorkerProcess {
  closeUnclaimed(worker.process);
  const { promise: listening, resolve, reject } = Promise.withResolvers<string | undefined>();
  const sibling = toSibling(worker);
  const exited = new Promise<WorkerExit>((end) => {
    worker.once('exit', (code, signal) => end({ code, signal: signal as NodeJS.Signals | null }));
    worker.once('exit', () => relay.leave(worker.id));
    worker.on('error', (error: Error) => {
      reject(cannotStart(error));
      // A process that was not created does not exit.
      if (worker.process.pid === undefined) end({ code: null, signal: null });
    });
  });
  worker.on('message', (message: WorkerMessage | SiblingMessage | null) => {
    if (message?.type === 'antiphon.listening') {
      resolve(message.url);
      relay.join(sibling);
    } else if (message?.type === 'antiphon.failed') reject(new WorkerStartError(message.reason));
    else if (message?.type === 'antiphon.ask' || message?.type === 'antiphon.reply') relay.heard(sibling, message);
  });
  void exited.then(() => resolve(undefined));
  // Prevents an unhandled rejection; callers that wait receive the error.
  listening.catch(() => undefined);
  return { pid: worker.process.pid, listening, exited, kill: (signal) => void worker.process.kill(signal) };
}

/** A worker whose channel may close at any time; its exit follows. */
function toSibling(worker: Worker): Sibling {
  return {
    id: worker.id,
    send: (message) => {
      if (worker.isConnected()) worker.send(message, () => undefined);
    },
  };
}

/** A worker that the system cannot start. */
function stillborn(error: unknown): WorkerProcess {
  const listening = Promise.reject<string>(cannotStart(error as Error));
  listening.catch(() => undefined);
  const exited = Promise.resolve({ code: null, signal: null });
  return { pid: undefined, listening, exited, kill: () => undefined };
}

function cannotStart({ message }: Error): WorkerStartError {
  return new WorkerStartError(`a worker cannot be started: ${message}`);
}

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
function closeUnclaimed(worker: ChildProcess): void {
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
