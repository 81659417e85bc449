/** Says in this process when a session is free again, so that nobody here has to wait for the next try. */
export class FreeSessions {
  private readonly listeners = new Map<string, Set<() => void>>();

  /** Calls `wake` whenever this process gives a session back; gives what ends that. */
  listen(key: string, wake: () => void): () => void {
    const listeners = this.listeners.get(key) ?? new Set();
    this.listeners.set(key, listeners.add(wake));
    return () => {
      listeners.delete(wake);
      if (listeners.size === 0) this.listeners.delete(key);
    };
  }

  announce(key: string): void {
    for (const wake of this.listeners.get(key) ?? []) wake();
  }
}
