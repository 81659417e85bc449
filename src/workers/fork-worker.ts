import cluster, { type Worker } from 'node:cluster';

import { closeUnclaimed } from './close-unclaimed.js';
import type { WorkerMessage } from './worker-message.js';
import { describeExit, type WorkerExit, type WorkerProcess, WorkerStartError } from './worker-process.js';

/** Starts this program again as a worker, with the same arguments and variables. */
export function forkWorker(): WorkerProcess {
  try {
    return follow(cluster.fork());
  } catch (error) {
    return stillborn(error);
  }
}

function follow(worker: Worker): WorkerProcess {
  closeUnclaimed(worker.process);
  const { promise: listening, resolve, reject } = Promise.withResolvers<string>();
  const exited = new Promise<WorkerExit>((end) => {
    worker.once('exit', (code, signal) => end({ code, signal: signal as NodeJS.Signals | null }));
    worker.on('error', (error: Error) => {
      reject(cannotStart(error));
      // What was never there does not exit.
      if (worker.process.pid === undefined) end({ code: null, signal: null });
    });
  });
  worker.on('message', (message: WorkerMessage | null) => {
    if (message?.type === 'antiphon.listening') resolve(message.url);
    if (message?.type === 'antiphon.failed') reject(new WorkerStartError(message.reason));
  });
  void exited.then((exit) =>
    reject(new WorkerStartError(`a worker ended before it could listen: ${describeExit(exit)}`)),
  );
  // Whoever waits is told; some never ask.
  listening.catch(() => undefined);
  return { pid: worker.process.pid, listening, exited, kill: (signal) => void worker.process.kill(signal) };
}

/** A worker for which the system has no room. */
function stillborn(error: unknown): WorkerProcess {
  const listening = Promise.reject<string>(cannotStart(error as Error));
  listening.catch(() => undefined);
  const exited = Promise.resolve({ code: null, signal: null });
  return { pid: undefined, listening, exited, kill: () => undefined };
}

function cannotStart({ message }: Error): WorkerStartError {
  return new WorkerStartError(`a worker cannot be started: ${message}`);
}
