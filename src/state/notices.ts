import type { StreamEvent } from '../protocol/index.js';

/** Is notified of deleted responses. */
export interface DeletionListener {
  /** These responses were deleted or have expired, on any replica. */
  deleted(responseIds: readonly string[]): void;

  /** From now on, until `resumed`, deletions may go unreported. */
  interrupted(): void;

  resumed(): void;
}

/** Distributes deletions to the listeners of this process. */
export class DeletionNotices {
  private readonly listeners = new Set<DeletionListener>();
  private isInterrupted = false;

  subscribe(listener: DeletionListener): void {
    this.listeners.add(listener);
    if (this.isInterrupted) listener.interrupted();
  }

  /** For backends: reports deletions. */
  announce(responseIds: readonly string[]): void {
    if (responseIds.length > 0) for (const listener of this.listeners) listener.deleted(responseIds);
  }

  /** For backends: deletions of other replicas are not received. */
  interrupt(): void {
    this.isInterrupted = true;
    for (const listener of this.listeners) listener.interrupted();
  }

  /** For backends: deletions of other replicas are received again. */
  resume(): void {
    this.isInterrupted = false;
    for (const listener of this.listeners) listener.resumed();
  }
}

/** Is notified of background responses, on any replica; notices may be lost. */
export interface RunListener {
  /** Events were added to the logs of these responses: with `events`, these, by this process and to one response. */
  logged?(responseIds: readonly string[], events?: readonly StreamEvent[]): void;

  /** These responses were ended from outside of their runs, which are to stop. */
  ended?(responseIds: readonly string[]): void;

  /** Jobs were enqueued. */
  enqueued?(): void;

  /** Notices may have been lost. */
  resumed?(): void;
}

/** Distributes notices of background responses to the listeners of this process. */
export class RunNotices {
  private readonly listeners = new Set<RunListener>();

  /** Returns the function that ends the subscription. */
  subscribe(listener: RunListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** For backends: events are stored in the logs of these responses; with `events`, this process has added these to one. */
  announceLogged(responseIds: readonly string[], events?: readonly StreamEvent[]): void {
    for (const listener of this.listeners) listener.logged?.(responseIds, events);
  }

  /** For backends: these responses were ended from outside of their runs. */
  announceEnded(responseIds: readonly string[]): void {
    for (const listener of this.listeners) listener.ended?.(responseIds);
  }

  /** For backends: jobs were enqueued. */
  announceEnqueued(): void {
    for (const listener of this.listeners) listener.enqueued?.();
  }

  /** For backends: notices of other replicas are received again, after an interruption. */
  announceResumed(): void {
    for (const listener of this.listeners) listener.resumed?.();
  }
}
