import type { RedisQueueBackend } from 'bullmq';

import type { Timer } from '../../time/index.js';

/** A job that this process holds. */
export interface HeldJob {
  readonly id: string;
  /** Names this delivery. */
  readonly token: string;
  /** Deliveries so far, this one included. */
  readonly attempt: number;
  /** Aborted when this process holds it no longer. */
  readonly lost: AbortController;
  /** Ends the delivery when it takes too long. */
  limit?: Timer;
}

/** The jobs of a queue that this process holds. */
export class HeldJobs {
  private readonly jobs = new Map<string, HeldJob>();

  constructor(private readonly lockMs: number) {}

  /** A new delivery of a job ends an earlier one. */
  add(held: HeldJob): void {
    this.jobs.get(held.id)?.lost.abort();
    this.jobs.set(held.id, held);
  }

  remove(held: HeldJob): void {
    held.limit?.cancel();
    if (this.jobs.get(held.id) === held) this.jobs.delete(held.id);
  }

  /** Shows that this process is alive, and aborts the jobs that belong to it no longer. */
  async touch(mover: RedisQueueBackend): Promise<void> {
    const touched = [...this.jobs.values()];
    if (touched.length === 0) return;
    const [ids, tokens] = [touched.map(({ id }) => id), touched.map(({ token }) => token)];
    const lost = new Set(await mover.extendLocks(ids, tokens, this.lockMs));
    for (const held of touched) if (lost.has(held.id)) held.lost.abort();
  }
}
