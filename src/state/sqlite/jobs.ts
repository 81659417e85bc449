import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';

import { Logger } from '@nestjs/common';

import type { JobJournal, KeptJob } from '../in-process/jobs.js';
import type { NewJob, QueueName } from '../job-queue.js';
import type { ThreadGroup } from './executed.js';

/** A job as it is stored; its data is JSON. */
export interface StoredJob {
  readonly queue: QueueName;
  readonly id: string;
  readonly data: string;
}

/** The jobs that are not done. */
export function sqliteJobs(database: DatabaseSync) {
  const insert = database.prepare('INSERT OR IGNORE INTO jobs (queue, id, data, attempts) VALUES (?, ?, ?, 0)');
  const select = database.prepare('SELECT queue, id, data, attempts FROM jobs ORDER BY number');
  const update = database.prepare('UPDATE jobs SET attempts = ? WHERE id = ?');
  const remove = database.prepare('DELETE FROM jobs WHERE id = ?');
  return {
    /** Returns the ids of those that were not there. */
    add: (jobs: readonly StoredJob[]): readonly string[] =>
      jobs.filter(({ queue, id, data }) => insert.run(queue, id, data).changes > 0).map(({ id }) => id),

    load: () => select.all() as unknown as readonly (StoredJob & { readonly attempts: number })[],

    delivered: (id: string, attempts: number): void => void update.run(attempts, id),

    ended: (id: string): void => void remove.run(id),
  };
}

/** The jobs of a database. */
export type SqliteJobs = ReturnType<typeof sqliteJobs>;

/** The jobs in the file, for the queue of the process. One that cannot be read is left where it is: the others, and the start, do without it. */
export function journalOf(thread: ThreadGroup<SqliteJobs>): JobJournal {
  const logger = new Logger('JobQueue');
  const read = ({ data, ...job }: StoredJob & Pick<KeptJob, 'attempts'>): readonly KeptJob[] => {
    try {
      return [{ ...job, data: JSON.parse(data) as unknown }];
    } catch (error) {
      logger.warn(`job ${job.id} of queue ${job.queue} cannot be read and is left out: ${String(error)}`);
      return [];
    }
  };
  return {
    ...thread.reading({ load: (jobs) => jobs.flatMap(read) }),
    ...thread.contract(['delivered', 'ended']),
  };
}

/** A job that is about to be stored and enqueued. */
export function withId(job: NewJob): Required<NewJob> {
  return { ...job, id: job.id ?? randomUUID() };
}

/** A job as it is stored. */
export function toStoredJob({ queue, id, data }: Required<NewJob>): StoredJob {
  return { queue, id, data: JSON.stringify(data) };
}
