import { Logger } from '@nestjs/common';

import { Backoff, type Clock, type Pauses } from '../../time/index.js';
import { describeExit, type WorkerExit, type WorkerProcess, WorkerStartError } from './worker-process.js';

/** Pauses before a worker is restarted; longer with consecutive failures. */
const PAUSES: Pauses = { firstMs: 100, longestMs: 30_000 };
/** How long a worker must serve before its pauses are reset, ms. */
const SETTLED_AFTER_MS = 60_000;

/** What a slot works with. */
export interface WorkerSlotOptions {
  /** Starts the worker with a number, from 0; the one that replaces it has the same. */
  readonly fork: (number: number) => WorkerProcess;
  readonly clock: Clock;
  /** How long a worker that is stopped may take to exit, ms; then it is killed. */
  readonly stopLimitMs: number;
}

/** One worker, restarted whenever it exits, until it is stopped. */
export class WorkerSlot {
  private readonly logger = new Logger('Workers');
  private readonly stopping = new AbortController();
  private readonly backoff: Backoff;
  private readonly started = Promise.withResolvers<string>();
  private worker: WorkerProcess;
  private state: 'starting' | 'started' | 'failed' = 'starting';
  private isListening = false;
  private mustReload = false;
  /** Resolves when the last worker has exited, with whether it shut down gracefully. */
  readonly ended: Promise<boolean>;

  /** Starts the first worker. */
  constructor(
    private readonly number: number,
    private readonly options: WorkerSlotOptions,
  ) {
    this.backoff = new Backoff(options.clock, PAUSES);
    this.worker = options.fork(number);
    // Prevents an unhandled rejection; callers that wait receive the error.
    this.started.promise.catch(() => undefined);
    this.ended = this.run();
  }

  /**
   * Resolves with the URL of the first worker that listens; those that die before are replaced. Rejects with
   * WorkerStartError when one says why it cannot listen, or when the slot is stopped before; there are then no others.
   */
  get listening(): Promise<string> {
    return this.started.promise;
  }

  /** Stops the worker with a signal; it is not restarted, and killed when it does not exit in time. */
  stop(signal: NodeJS.Signals): void {
    this.stopping.abort(signal);
    this.started.reject(new WorkerStartError('the workers are stopping'));
    const { worker } = this;
    const { clock, stopLimitMs } = this.options;
    worker.kill(signal);
    const limit = clock.schedule(stopLimitMs, () => {
      this.logger.error(`worker ${worker.pid ?? '-'} did not exit within ${stopLimitMs} ms: killing it`);
      worker.kill('SIGKILL');
    });
    void worker.exited.then(() => limit.cancel());
  }

  /** Ends the worker at once, after `stop`. */
  kill(): void {
    this.worker.kill('SIGKILL');
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
      await this.see(worker);
      const exit = await worker.exited;
      this.isListening = false;
      if (this.isStopping()) return this.isOrderly(exit);
      if (this.state === 'failed') return false;
      const pause = Math.ceil(this.backoff.failed());
      this.logger.error(`worker ${worker.pid ?? '-'} exited (${describeExit(exit)}); restarting in ${pause} ms`);
      await this.options.clock.sleep(pause, this.stopping.signal);
      if (this.isStopping()) return true;
      this.mustReload = false;
      this.worker = this.options.fork(this.number);
    }
  }

  /** Follows a worker until it exits, or says that it cannot listen. */
  private async see(worker: WorkerProcess): Promise<void> {
    try {
      const url = await worker.listening;
      if (url === undefined) return;
      this.started.resolve(url);
    } catch (error) {
      this.fail(error as Error);
      return;
    }
    this.state = 'started';
    this.isListening = true;
    this.logger.log(`worker ${worker.pid} listens`);
    if (this.mustReload) worker.kill('SIGHUP');
    const settled = this.options.clock.schedule(SETTLED_AFTER_MS, () => this.backoff.succeeded());
    await worker.exited;
    settled.cancel();
  }

  /** The reason of the first worker goes to the caller of `listening`; the service runs when later ones have one. */
  private fail(error: Error): void {
    if (this.state === 'started') {
      if (!this.isStopping()) this.logger.error(error.message);
      return;
    }
    this.state = 'failed';
    this.started.reject(error);
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Before it handles signals, a worker is ended by the signal itself. */
  private isOrderly({ code, signal }: WorkerExit): boolean {
    return code === 0 || signal === this.stopping.signal.reason;
  }
}
