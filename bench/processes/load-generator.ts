import { once } from 'node:events';

import type { Job, OutcomeOf } from '../load/job.ts';
import { Child } from './child.ts';

/** Sends requests to servers by jobs. */
export class LoadGenerator extends Child {
  /** Resolves once the process is ready. Earlier messages would be lost. */
  private readonly ready: Promise<unknown>;

  constructor() {
    super('the load generator', new URL('../load/main.ts', import.meta.url));
    this.ready = once(this.process, 'message');
  }

  /** Runs a job to its end. */
  async run<OneJob extends Job>(job: OneJob): Promise<OutcomeOf[OneJob['type']]> {
    await this.orEnd(this.ready);
    return await this.ask({ ...job });
  }
}
