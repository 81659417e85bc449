import { setImmediate } from 'node:timers/promises';

import { asTenant } from '../../access/index.js';
import { LEASE_MS } from './records.js';
import { enqueue } from './runs.js';
import type { OpenedState } from './state-subject.js';

/** What the cases need of an opened state, with the defaults for what its subject leaves out. */
export type TestedState = Required<Omit<OpenedState, 'replica' | 'endWindows'>> &
  Pick<OpenedState, 'replica' | 'endWindows'> &
  AsyncDisposable;

/** Adds what a subject leaves out. */
export function withDefaults(opened: OpenedState): TestedState {
  const { backend, clock } = opened;
  let jobs = 0;
  return {
    expireLeases: async () => clock.advance(LEASE_MS),
    saveMany: async (tenant, records) => {
      for (const record of records) await backend.responses.save(tenant, record);
    },
    enqueue: async (...all) => {
      for (const job of all) {
        jobs += 1;
        await enqueue(backend.runs, asTenant('jobs'), `job-${jobs}`, { job });
      }
    },
    untilHeld: () => setImmediate(),
    ageJobs: async (seconds) => clock.advance(seconds * 1000),
    ...opened,
    [Symbol.asyncDispose]: () => opened.close(),
  };
}
