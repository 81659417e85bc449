import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';

import type { NewJob, QueueName } from '../job-queue.js';

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

/** A job that is about to be stored and enqueued. */
export function withId(job: NewJob): Required<NewJob> {
  return { ...job, id: job.id ?? randomUUID() };
}

/** A job as it is stored. */
export function toStoredJob({ queue, id, data }: Required<NewJob>): StoredJob {
  return { queue, id, data: JSON.stringify(data) };
}
