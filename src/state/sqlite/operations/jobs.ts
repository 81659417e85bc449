import type { DatabaseSync } from 'node:sqlite';

import type { QueueName } from '../../job-queue.js';

/** A job as it is stored; its data is JSON. */
export interface StoredJob {
  readonly queue: QueueName;
  readonly id: string;
  readonly data: string;
}

/** The jobs that are not done. */
export function jobOperations(database: DatabaseSync) {
  const insert = database.prepare('INSERT OR IGNORE INTO jobs (queue, id, data, attempts) VALUES (?, ?, ?, 0)');
  const update = database.prepare('UPDATE jobs SET attempts = ? WHERE id = ?');
  const removeOne = database.prepare('DELETE FROM jobs WHERE id = ?');
  const select = database.prepare('SELECT queue, id, data, attempts FROM jobs ORDER BY number');
  return {
    /** Returns the ids of those that were not there. */
    add: (jobs: readonly StoredJob[]): readonly string[] =>
      jobs.filter(({ queue, id, data }) => insert.run(queue, id, data).changes > 0).map(({ id }) => id),
    remove: (id: string): void => void removeOne.run(id),
    delivered: (id: string, attempts: number): void => void update.run(attempts, id),
    load: (): readonly (StoredJob & { readonly attempts: number })[] =>
      select.all() as unknown as (StoredJob & { readonly attempts: number })[],
  };
}

/** What changes jobs together with other rows. */
export type JobOperations = ReturnType<typeof jobOperations>;
