/** Who wants to know that responses are gone. */
export interface DeletionListener {
  /** These were deleted or have expired, wherever that was noticed. */
  deleted(responseIds: readonly string[]): void;

  /** From now on, and until `resumed`, responses may go without notice. */
  interrupted(): void;

  resumed(): void;
}

/** Tells every replica what was deleted on any of them. */
export class DeletionNotices {
  private readonly listeners = new Set<DeletionListener>();
  private isInterrupted = false;

  subscribe(listener: DeletionListener): void {
    this.listeners.add(listener);
    if (this.isInterrupted) listener.interrupted();
  }

  /** For backends: tells this process. */
  announce(responseIds: readonly string[]): void {
    if (responseIds.length > 0) for (const listener of this.listeners) listener.deleted(responseIds);
  }

  /** For backends: other replicas cannot be heard. */
  interrupt(): void {
    this.isInterrupted = true;
    for (const listener of this.listeners) listener.interrupted();
  }

  /** For backends: they can be heard again. */
  resume(): void {
    this.isInterrupted = false;
    for (const listener of this.listeners) listener.resumed();
  }
}
