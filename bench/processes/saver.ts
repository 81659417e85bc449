import { once } from 'node:events';

import type { SaveJob, SaveOutcome } from '../savers/job.ts';
import { Child } from './child.ts';

/** Saves responses in a database by jobs. */
export class Saver extends Child {
  /** Starts a module that calls `runSaves`, and waits until it is ready. */
  static async start(name: string, module: URL, environment: Readonly<Record<string, string>>): Promise<Saver> {
    const saver = new Saver(name, module, environment);
    await saver.orEnd(once(saver.process, 'message'));
    return saver;
  }

  /** Runs a job to its end. */
  save(job: Omit<SaveJob, 'type'>): Promise<SaveOutcome> {
    return this.ask<SaveOutcome>({ type: 'save', ...job });
  }
}
