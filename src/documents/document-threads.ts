import { Worker } from 'node:worker_threads';

import type { Read, ReadTask } from './document-thread.js';

/** A thread without work ends after this time, ms. */
const IDLE_MS = 30_000;

const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

/** A document that waits for a thread, or is being read. */
interface Reading extends PromiseWithResolvers<Read> {
  readonly task: ReadTask;
  readonly begin: () => NodeJS.Timeout;
  timer: NodeJS.Timeout | null;
}

/** A thread, with what it reads; null while it is idle. */
interface Thread {
  readonly worker: Worker;
  reading: Reading | null;
  idle: NodeJS.Timeout | null;
}

/** Threads that start when there is a document to read, and end when there was none for a while. A document that is given up ends its thread. */
export class DocumentThreads {
  private readonly threads = new Set<Thread>();
  private readonly waiting: Reading[] = [];

  constructor(private readonly most: number) {}

  /**
   * Reads a document. `begin` is called when a thread takes it, and returns the timer of its deadline, which is cleared at its end.
   * Rejects with the reason of the signal, or the error of a thread that has died.
   */
  async run(task: ReadTask, signal: AbortSignal, begin: () => NodeJS.Timeout): Promise<Read> {
    signal.throwIfAborted();
    const reading: Reading = { task, begin, timer: null, ...Promise.withResolvers<Read>() };
    const stop = (): void => this.stop(reading, signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    this.waiting.push(reading);
    this.next();
    try {
      return await reading.promise;
    } finally {
      signal.removeEventListener('abort', stop);
      if (reading.timer !== null) clearTimeout(reading.timer);
    }
  }

  /** Ends all threads. */
  async close(): Promise<void> {
    const stopped = new Error('The service stops.');
    for (const { reject } of this.waiting.splice(0)) reject(stopped);
    const ending = [...this.threads].map((thread) => this.end(thread, stopped));
    await Promise.all(ending);
  }

  private next(): void {
    const [reading] = this.waiting;
    if (reading === undefined) return;
    const idle = [...this.threads].find((thread) => thread.reading === null);
    if (idle === undefined && this.threads.size >= this.most) return;
    this.waiting.shift();
    const thread = idle ?? this.start();
    if (thread.idle !== null) clearTimeout(thread.idle);
    thread.reading = reading;
    reading.timer = reading.begin();
    thread.worker.ref();
    const { buffer, byteLength } = reading.task.bytes;
    // Bytes that have their buffer for themselves are moved, others copied.
    const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
    thread.worker.postMessage(reading.task, isWhole ? [buffer] : []);
  }

  private start(): Thread {
    const worker = new Worker(new URL('./document-thread.js', import.meta.url), { resourceLimits: LIMITS });
    const thread: Thread = { worker, reading: null, idle: null };
    this.threads.add(thread);
    worker.on('message', (read: Read) => {
      thread.reading?.resolve(read);
      thread.reading = null;
      // An idle thread does not keep the process running.
      worker.unref();
      thread.idle = setTimeout(() => void this.end(thread), IDLE_MS).unref();
      this.next();
    });
    worker.on('error', (error) => void this.end(thread, error));
    worker.on('exit', () => void this.end(thread, new Error('The thread has ended.')));
    return thread;
  }

  private async end(thread: Thread, error?: unknown): Promise<void> {
    if (!this.threads.delete(thread)) return;
    if (thread.idle !== null) clearTimeout(thread.idle);
    thread.reading?.reject(error);
    thread.reading = null;
    this.next();
    await thread.worker.terminate();
  }

  private stop(reading: Reading, reason: unknown): void {
    const place = this.waiting.indexOf(reading);
    if (place !== -1) this.waiting.splice(place, 1);
    reading.reject(reason);
    const thread = [...this.threads].find((each) => each.reading === reading);
    if (thread !== undefined) void this.end(thread, reason);
  }
}
