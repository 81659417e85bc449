import { WorkerStartError } from './worker-process.js';
import { WorkerSlot, type WorkerSlotOptions } from './worker-slot.js';

/** Starts, restarts and stops the workers of a service. */
export class Supervisor {
  private readonly slots: WorkerSlot[] = [];
  private isStopping = false;

  constructor(
    private readonly count: number,
    private readonly options: WorkerSlotOptions,
  ) {}

  /**
   * Starts one worker, and the others once it listens: so one worker migrates the schema and binds the port. Resolves
   * with the URL when all listen, or with undefined when they were stopped before. Workers that die meanwhile are
   * replaced. Throws WorkerStartError when one says why it cannot listen, and stops the others.
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

  /** Resolves when all workers have exited, with whether all shut down gracefully. */
  async ended(): Promise<boolean> {
    const ends = await Promise.all(this.slots.map(({ ended }) => ended));
    return ends.every((isOrderly) => isOrderly);
  }

  /** Stops all workers with a signal; repeated calls do nothing. Workers are no longer restarted. */
  stop(signal: NodeJS.Signals): void {
    if (this.isStopping) return;
    this.isStopping = true;
    for (const slot of this.slots) slot.stop(signal);
  }

  /** Ends all workers at once, after `stop`. */
  kill(): void {
    for (const slot of this.slots) slot.kill();
  }

  /** Makes all workers read their files again. */
  reload(): void {
    for (const slot of this.slots) slot.reload();
  }

  private async startOne(): Promise<string> {
    if (this.isStopping) throw new WorkerStartError('the workers are stopping');
    const slot = new WorkerSlot(this.slots.length, this.options);
    this.slots.push(slot);
    return slot.listening;
  }
}
