import { Logger } from '@nestjs/common';

import { Backoff, type Clock, type Pauses } from '../time/index.js';
import { describeExit, type WorkerExit, type WorkerProcess } from './worker-process.js';

/** Before a worker that died is replaced; longer the more often that happens in a row. */
const PAUSES: Pauses = { firstMs: 100, longestMs: 30_000 };
/** How long a worker has to serve for the deaths before it to be forgotten, ms. */
const SETTLED_AFTER_MS = 60_000;

/** The place of one worker: whenever it dies another one is started, until the end. */
export class WorkerSlot {
  private readonly logger = new Logger('Workers');
  private readonly stopping = new AbortController();
  private readonly backoff: Backoff;
  private readonly first: WorkerProcess;
  private worker: WorkerProcess;
  private isListening = false;
  private mustReload = false;
  /** Resolves, when there is no worker any more and none will come, with whether the last one ended in order. */
  readonly ended: Promise<boolean>;

  /** Starts the first worker. */
  constructor(
    private readonly fork: () => WorkerProcess,
    private readonly clock: Clock,
  ) {
    this.backoff = new Backoff(clock, PAUSES);
    this.first = fork();
    this.worker = this.first;
    this.ended = this.run();
  }

  /** Resolves with the URL of the first worker. Rejects with WorkerStartError when that one cannot listen: none follows it. */
  get listening(): Promise<string> {
    return this.first.listening;
  }

  /** Ends the worker with a signal; it is not replaced any more. */
  stop(signal: NodeJS.Signals): void {
    this.stopping.abort(signal);
    this.worker.kill(signal);
  }

  /** Passes SIGHUP on, which makes the worker read its files again; before it listens that would end it, so it gets it then. */
  reload(): void {
    if (this.isListening) this.worker.kill('SIGHUP');
    else this.mustReload = true;
  }

  private async run(): Promise<boolean> {
    for (;;) {
      const { worker } = this;
      const hasListened = await this.see(worker);
      const exit = await worker.exited;
      this.isListening = false;
      if (this.isStopping()) return this.isOrderly(exit);
      if (!hasListened && worker === this.first) return false;
      const pause = Math.ceil(this.backoff.failed());
      this.logger.error(
        `worker ${worker.pid ?? '-'} is gone (${describeExit(exit)}); the next one starts in ${pause} ms`,
      );
      await this.clock.sleep(pause, this.stopping.signal);
      if (this.isStopping()) return true;
      this.mustReload = false;
      this.worker = this.fork();
    }
  }

  /** Follows a worker to its end. Gives whether it has ever listened. */
  private async see(worker: WorkerProcess): Promise<boolean> {
    try {
      await worker.listening;
    } catch (error) {
      // Of the first one whoever starts us is told.
      if (worker !== this.first && !this.isStopping()) this.logger.error((error as Error).message);
      return false;
    }
    this.isListening = true;
    this.logger.log(`worker ${worker.pid} listens`);
    if (this.mustReload) worker.kill('SIGHUP');
    const settled = this.clock.schedule(SETTLED_AFTER_MS, () => this.backoff.succeeded());
    await worker.exited;
    settled.cancel();
    return true;
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** A worker that has not got as far as to end by itself dies of the signal. */
  private isOrderly({ code, signal }: WorkerExit): boolean {
    return code === 0 || signal === this.stopping.signal.reason;
  }
}
