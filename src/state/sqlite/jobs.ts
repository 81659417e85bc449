import { randomUUID } from 'node:crypto';

import type { JobJournal, KeptJob } from '../in-process/jobs.js';
import type { NewJob } from '../job-queue.js';
import type { DatabaseThread } from './database-thread.js';
import type { StoredJob } from './operations/jobs.js';

/** The jobs in the file. */
export class SqliteJobJournal implements JobJournal {
  constructor(private readonly thread: DatabaseThread) {}

  async load(): Promise<readonly KeptJob[]> {
    const jobs = await this.thread.call('jobs.load');
    return this.thread.decode(() => jobs.map((job) => ({ ...job, data: JSON.parse(job.data) as unknown })));
  }

  delivered(id: string, attempts: number): Promise<void> {
    return this.thread.call('jobs.delivered', id, attempts);
  }

  ended(id: string): Promise<void> {
    return this.thread.call('jobs.remove', id);
  }
}

/** A job that is about to be stored and enqueued. */
export function withId(job: NewJob): Required<NewJob> {
  return { ...job, id: job.id ?? randomUUID() };
}

/** A job as it is stored. */
export function toStoredJob({ queue, id, data }: Required<NewJob>): StoredJob {
  return { queue, id, data: JSON.stringify(data) };
}
