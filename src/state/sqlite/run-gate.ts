/**
 * Keeps what writes to a run waiting while it is ended from outside, which takes two calls: nothing can be logged between them. Only this
 * process writes to it.
 */
export class RunGate {
  private readonly closed = new Map<string, Promise<unknown>>();

  /** Resolves when the gate is open; undefined, and nothing to wait for, when it is. */
  whenOpen(key: string): Promise<unknown> | undefined {
    return this.closed.get(key);
  }

  /** Closes the gate for as long as `work` takes; works for the same key wait for each other. */
  async closeFor<T>(key: string, work: () => Promise<T>): Promise<T> {
    while (this.closed.has(key)) await this.closed.get(key);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.closed.set(key, promise);
    try {
      return await work();
    } finally {
      this.closed.delete(key);
      resolve(undefined);
    }
  }
}
