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
