import type { QueueName } from '../job-queue.js';

/** A job that is not done, as it outlives the process. */
export interface KeptJob {
  readonly queue: QueueName;
  readonly id: string;
  readonly data: unknown;
  /** Deliveries so far. */
  readonly attempts: number;
}

/**
 * Keeps the jobs of a process until it starts again. A job enters it together with the change that it belongs to. Methods
 * throw StoreUnavailableError.
 */
export interface JobJournal {
  /** The jobs that are not done, oldest first. */
  load(): Promise<readonly KeptJob[]>;

  /** A job is about to be delivered; what its handler stores comes after this. */
  delivered(id: string, attempts: number): Promise<void>;

  /** A job is done, or is not delivered again. */
  ended(id: string): Promise<void>;
}
