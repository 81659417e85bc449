import type { JobAttempt, PgBoss } from 'pg-boss';

import type { QueueName } from '../job-queue.js';

/** pg-boss's answer to `touch`, of which it declares nothing. */
interface Touched {
  /** The ids of the jobs that are still held. */
  readonly settled: readonly string[];
}

/** A job that this process holds. */
export interface HeldJob {
  readonly claim: JobAttempt;
  /** Aborted when this process holds it no longer. */
  readonly lost: AbortController;
}

/** The jobs of a queue that this process holds. */
export class HeldJobs {
  private readonly jobs = new Map<string, HeldJob>();

  constructor(private readonly queue: QueueName) {}

  /** A new delivery of a job ends an earlier one. */
  add({ id, retryCount }: JobAttempt): HeldJob {
    this.jobs.get(id)?.lost.abort();
    const held = { claim: { id, retryCount }, lost: new AbortController() };
    this.jobs.set(id, held);
    return held;
  }

  remove(held: HeldJob): void {
    if (this.jobs.get(held.claim.id) === held) this.jobs.delete(held.claim.id);
  }

  /** Shows that this process is alive, and aborts the jobs that belong to it no longer. */
  async touch(boss: PgBoss): Promise<void> {
    const touched = [...this.jobs.values()];
    if (touched.length === 0) return;
    const claims = touched.map(({ claim }) => claim);
    const { settled } = (await boss.touch(this.queue, claims)) as Touched;
    const kept = new Set(settled);
    for (const held of touched) if (!kept.has(held.claim.id)) held.lost.abort();
  }
}
