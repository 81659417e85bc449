import { Worker } from 'node:worker_threads';

let loaded: Worker | null = null;

/** Starts a worker thread for the next `takeWorker`, so that it loads its modules while the service loads its own. */
export function loadWorker(): void {
  const worker = newWorker();
  // Without one it is only slower: the thread that is started in its place says what is wrong.
  worker.on('error', () => (loaded = null));
  worker.unref();
  loaded = worker;
}

/** A thread that runs thread.ts and has no database yet. It keeps the process running. */
export function takeWorker(): Worker {
  const worker = loaded ?? newWorker();
  loaded = null;
  worker.ref();
  return worker;
}

function newWorker(): Worker {
  return new Worker(new URL('./thread.js', import.meta.url));
}
