import type { Clock } from '../time/index.js';
import { type WorkerProcess, WorkerStartError } from './worker-process.js';
import { WorkerSlot } from './worker-slot.js';

/** Starts, keeps and ends the workers of a service. */
export class Supervisor {
  private readonly slots: WorkerSlot[] = [];
  private isStopping = false;

  constructor(
    private readonly count: number,
    private readonly fork: () => WorkerProcess,
    private readonly clock: Clock,
  ) {}

  /**
   * Starts the workers, and the others when the first one listens: the schema is brought up to date once, the port taken
   * once. Resolves with the URL when all listen, or with undefined when they were stopped before. Throws WorkerStartError
   * when one cannot listen; the others are ended then.
   */
  async start(): Promise<string | undefined> {
    try {
      const url = await this.startOne();
      await Promise.all(Array.from({ length: this.count - 1 }, () => this.startOne()));
      return url;
    } catch (error) {
      if (this.isStopping) return undefined;
      this.stop('SIGTERM');
      throw error;
    }
  }

  /** Resolves when no worker is left, with whether all ended in order. */
  async ended(): Promise<boolean> {
    const ends = await Promise.all(this.slots.map(({ ended }) => ended));
    return ends.every((isOrderly) => isOrderly);
  }

  /** Passes a signal that ends them on to all workers, the first time only. None is replaced any more. */
  stop(signal: NodeJS.Signals): void {
    if (this.isStopping) return;
    this.isStopping = true;
    for (const slot of this.slots) slot.stop(signal);
  }

  /** Has all workers read their files again. */
  reload(): void {
    for (const slot of this.slots) slot.reload();
  }

  private async startOne(): Promise<string> {
    if (this.isStopping) throw new WorkerStartError('the workers are being ended');
    const slot = new WorkerSlot(this.fork, this.clock);
    this.slots.push(slot);
    return slot.listening;
  }
}
