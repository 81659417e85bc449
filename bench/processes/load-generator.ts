import type { Job, Outcome } from '../load/job.ts';
import { Child } from './child.ts';

/** Sends requests to servers, as jobs tell it. */
export class LoadGenerator extends Child {
  constructor() {
    super('the load generator', new URL('../load/main.ts', import.meta.url));
  }

  /** Does a job to its end. */
  run(job: Job): Promise<Outcome> {
    return this.ask<Outcome>({ ...job });
  }
}
