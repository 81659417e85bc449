import { tenantKey } from '../../access/index.js';
import type { RunName } from '../event-log.js';

/** Delays writes to a run while the same process ends it from outside, which takes several calls: nothing is logged between them. */
export class RunGate {
  private readonly closed = new Map<string, Promise<unknown>>();

  /** Does what writes to a run, at once when the gate is open. */
  pass<T>(run: RunName, work: () => Promise<T>): Promise<T> {
    const closed = this.closed.get(keyOf(run));
    return closed === undefined ? work() : closed.then(() => this.pass(run, work));
  }

  /** Closes the gate for as long as `work` takes; works for the same run wait for each other. */
  async closeFor<T>(run: RunName, work: () => Promise<T>): Promise<T> {
    const key = keyOf(run);
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

function keyOf({ tenant, responseId }: RunName): string {
  return tenantKey(tenant, responseId);
}
