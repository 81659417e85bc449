import type { Job, OutcomeOf } from '../load/job.ts';
import { Child } from './child.ts';

/** Sends requests to servers, as jobs tell it. */
export class LoadGenerator extends Child {
  constructor() {
    super('the load generator', new URL('../load/main.ts', import.meta.url));
  }

  /** Does a job to its end. */
  run<OneJob extends Job>(job: OneJob): Promise<OutcomeOf[OneJob['type']]> {
    return this.ask({ ...job });
  }
}
