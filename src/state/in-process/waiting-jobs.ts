/** A job, with how often it was delivered. */
export interface WaitingJob {
  readonly id: string;
  readonly data: unknown;
  /** Its place in the queue, also when it is delivered again. */
  readonly number: number;
  attempts: number;
}

/** Jobs that wait, oldest first. */
export class WaitingJobs {
  /** Those who take the jobs. */
  readonly takers = new Set<{ wake(): void }>();
  private readonly jobs: WaitingJob[] = [];

  [Symbol.iterator](): Iterator<WaitingJob> {
    return this.jobs.values();
  }

  add(job: WaitingJob): void {
    // Only a job that is delivered again has younger ones behind it.
    let index = this.jobs.length;
    while (index > 0 && (this.jobs[index - 1]?.number ?? 0) > job.number) index -= 1;
    this.jobs.splice(index, 0, job);
    for (const taker of this.takers) taker.wake();
  }

  remove(id: string): void {
    const index = this.jobs.findIndex((job) => job.id === id);
    if (index >= 0) this.jobs.splice(index, 1);
  }

  take(): WaitingJob | undefined {
    return this.jobs.shift();
  }
}
