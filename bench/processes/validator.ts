import { once } from 'node:events';

import type { ValidationJob, ValidationOutcome } from '../validation/job.ts';
import { Child } from './child.ts';

/** Parses and validates requests by jobs. */
export class Validator extends Child {
  /** Starts the process and waits until it is ready. */
  static async start(): Promise<Validator> {
    const validator = new Validator('the validator', new URL('../validation/main.ts', import.meta.url));
    await validator.orEnd(once(validator.process, 'message'));
    return validator;
  }

  /** Runs a job to its end. */
  run(job: Omit<ValidationJob, 'type'>): Promise<ValidationOutcome> {
    return this.ask<ValidationOutcome>({ type: 'validation', ...job });
  }
}
