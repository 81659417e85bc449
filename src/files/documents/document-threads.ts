import { Worker } from 'node:worker_threads';

import type { Read, ReadTask, RobotsTask } from './document-thread.js';

/** A thread without work ends after this time, ms. */
const IDLE_MS = 30_000;

/** Documents that wait, of all owners. One of them may have as many as there are free places: half of all when it is alone, then half of the rest, so that nine owners find some. */
const MOST_WAITING = 256;

/** How often the memory of a thread is looked at, ms: its limits do not count buffers, which a small file can fill. */
const LOOK_MS = 100;
const MOST_BYTES = 384 * 1024 * 1024;

const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

/** Too many documents wait already. */
export class TooManyDocumentsError extends Error {
  override readonly name = 'TooManyDocumentsError';

  constructor() {
    super('Too many documents wait to be read. Try again later.');
  }
}

/** The threads are closed. */
export class ThreadsClosedError extends Error {
  override readonly name = 'ThreadsClosedError';

  constructor() {
    super('The service stops.');
  }
}

/** How a document is read. */
export interface Reader {
  /** Ends the reading, or the wait for it. */
  readonly signal: AbortSignal;
  /** Whose document it is: owners take turns. */
  readonly owner: string;
  /** Called when a thread takes the document: the timer of its deadline, which is cleared at its end. */
  readonly begin: () => NodeJS.Timeout;
}

/** A document that waits for a thread, or is being read. */
interface Reading extends PromiseWithResolvers<Read> {
  readonly task: ReadTask | RobotsTask;
  readonly owner: string;
  readonly begin: () => NodeJS.Timeout;
  timer: NodeJS.Timeout | null;
}

/** A thread, with what it reads; null while it is idle. */
interface Thread {
  readonly worker: Worker;
  reading: Reading | null;
  idle: NodeJS.Timeout | null;
  /** Looks at its memory while it reads. */
  look: NodeJS.Timeout | null;
}

/** Threads that start when there is a document to read, and end when there was none for a while. A document that is given up ends its thread. */
export class DocumentThreads {
  private readonly threads = new Set<Thread>();
  private readonly waiting: Reading[] = [];

  constructor(private readonly most: number) {}

  /** Reads a document. Rejects with TooManyDocumentsError, ThreadsClosedError, the reason of the signal, or the error of a thread that has died. */
  async run(task: ReadTask | RobotsTask, { signal, owner, begin }: Reader): Promise<Read> {
    signal.throwIfAborted();
    const own = this.waiting.filter((each) => each.owner === owner).length;
    if (own >= MOST_WAITING - this.waiting.length) throw new TooManyDocumentsError();
    const reading: Reading = { task, owner, begin, timer: null, ...Promise.withResolvers<Read>() };
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
    const stopped = new ThreadsClosedError();
    for (const { reject } of this.waiting.splice(0)) reject(stopped);
    const ending = [...this.threads].map((thread) => this.end(thread, stopped));
    await Promise.all(ending);
  }

  private next(): void {
    const running = [...this.threads].flatMap(({ reading }) => (reading === null ? [] : [reading.owner]));
    // First those of which none is being read.
    const place = Math.max(
      0,
      this.waiting.findIndex(({ owner }) => !running.includes(owner)),
    );
    const reading = this.waiting[place];
    if (reading === undefined) return;
    const idle = [...this.threads].find((thread) => thread.reading === null);
    if (idle === undefined && this.threads.size >= this.most) return;
    this.waiting.splice(place, 1);
    // What else its owner waits for comes behind what all others wait for.
    const others = this.waiting.filter(({ owner }) => owner !== reading.owner);
    this.waiting.splice(0, Infinity, ...others, ...this.waiting.filter(({ owner }) => owner === reading.owner));
    const thread = idle ?? this.start();
    if (thread.idle !== null) clearTimeout(thread.idle);
    thread.reading = reading;
    reading.timer = reading.begin();
    thread.look = setInterval(() => void this.look(thread), LOOK_MS);
    thread.worker.ref();
    const { task } = reading;
    const buffer = 'bytes' in task ? task.bytes.buffer : null;
    // Bytes that have their buffer for themselves are moved, others copied.
    const isWhole = buffer instanceof ArrayBuffer && 'bytes' in task && buffer.byteLength === task.bytes.byteLength;
    thread.worker.postMessage(task, isWhole ? [buffer] : []);
  }

  /** Ends a thread that has more memory than it may have. */
  private async look(thread: Thread): Promise<void> {
    const { reading, worker } = thread;
    // Not every version of Node can tell, whatever its types say.
    const tells = typeof (worker as Partial<Worker>).getHeapStatistics === 'function';
    const statistics = tells ? await worker.getHeapStatistics().catch(() => undefined) : undefined;
    if (statistics === undefined || thread.reading !== reading || reading === null) return;
    const bytes = statistics.used_heap_size + statistics.external_memory;
    if (bytes > MOST_BYTES) await this.end(thread, new Error(`The thread has ${bytes} bytes.`));
  }

  private start(): Thread {
    const worker = new Worker(new URL('./document-thread.js', import.meta.url), { resourceLimits: LIMITS });
    const thread: Thread = { worker, reading: null, idle: null, look: null };
    this.threads.add(thread);
    worker.on('message', (read: Read) => {
      clearInterval(thread.look ?? undefined);
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
    clearTimeout(thread.idle ?? undefined);
    clearInterval(thread.look ?? undefined);
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
