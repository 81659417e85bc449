/** Delays writes to a run while the same process ends it from outside, which takes several calls: nothing is logged between them. */
export class RunGate {
  private readonly closed = new Map<string, Promise<unknown>>();

  /** Does what writes to a run, at once when the gate is open. */
  pass<T>(key: string, work: () => Promise<T>): Promise<T> {
    const closed = this.closed.get(key);
    return closed === undefined ? work() : closed.then(() => this.pass(key, work));
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
