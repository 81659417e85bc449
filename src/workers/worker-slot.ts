import { Logger } from '@nestjs/common';

import { Backoff, type Clock, type Pauses } from '../time/index.js';
import { describeExit, type WorkerExit, type WorkerProcess } from './worker-process.js';

/** Pauses before a worker is restarted; longer with consecutive failures. */
const PAUSES: Pauses = { firstMs: 100, longestMs: 30_000 };
/** How long a worker must serve before its pauses are reset, ms. */
const SETTLED_AFTER_MS = 60_000;

/** One worker, restarted whenever it exits, until it is stopped. */
export class WorkerSlot {
  private readonly logger = new Logger('Workers');
  private readonly stopping = new AbortController();
  private readonly backoff: Backoff;
  private readonly first: WorkerProcess;
  private worker: WorkerProcess;
  private isListening = false;
  private mustReload = false;
  /** Resolves when the last worker has exited, with whether it shut down gracefully. */
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

  /**
   * Resolves with the URL of the first worker. Rejects with WorkerStartError when it cannot listen; it is then not
   * restarted.
   */
  get listening(): Promise<string> {
    return this.first.listening;
  }

  /** Stops the worker with a signal; it is not restarted. */
  stop(signal: NodeJS.Signals): void {
    this.stopping.abort(signal);
    this.worker.kill(signal);
  }

  /**
   * Passes SIGHUP on, which makes the worker read its files again. Deferred until the worker listens, because it would
   * end the process before.
   */
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
      this.logger.error(`worker ${worker.pid ?? '-'} exited (${describeExit(exit)}); restarting in ${pause} ms`);
      await this.clock.sleep(pause, this.stopping.signal);
      if (this.isStopping()) return true;
      this.mustReload = false;
      this.worker = this.fork();
    }
  }

  /** Follows a worker until it exits. Returns whether it has listened. */
  private async see(worker: WorkerProcess): Promise<boolean> {
    try {
      await worker.listening;
    } catch (error) {
      // The caller of `listening` reports errors of the first worker.
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

  /** Before it handles signals, a worker is ended by the signal itself. */
  private isOrderly({ code, signal }: WorkerExit): boolean {
    return code === 0 || signal === this.stopping.signal.reason;
  }
}
