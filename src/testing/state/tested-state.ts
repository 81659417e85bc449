import { setImmediate } from 'node:timers/promises';

import { asTenant } from '../../access/index.js';
import { LEASE_MS } from './records.js';
import { enqueue } from './runs.js';
import type { OpenedState } from './state-subject.js';

/** What the cases need of an opened state, with the defaults for what its subject leaves out. */
export type TestedState = Required<Omit<OpenedState, 'replica' | 'endWindows'>> &
  Pick<OpenedState, 'replica' | 'endWindows'> &
  AsyncDisposable;

/** Adds what a subject leaves out. What it has may be an object of a class. */
export function withDefaults(opened: OpenedState): TestedState {
  const { backend, clock } = opened;
  const close = (): Promise<void> => opened.close();
  let jobs = 0;
  return {
    backend,
    clock,
    content: () => opened.content(),
    expireLeases: opened.expireLeases?.bind(opened) ?? (async () => clock.advance(LEASE_MS)),
    saveMany:
      opened.saveMany?.bind(opened) ??
      (async (tenant, records) => {
        for (const record of records) await backend.responses.save(tenant, record);
      }),
    enqueue:
      opened.enqueue?.bind(opened) ??
      (async (...all) => {
        for (const job of all) {
          jobs += 1;
          await enqueue(backend.runs, asTenant('jobs'), `job-${jobs}`, { job });
        }
      }),
    untilHeld: opened.untilHeld?.bind(opened) ?? (() => setImmediate()),
    ageJobs: opened.ageJobs?.bind(opened) ?? (async (seconds) => clock.advance(seconds * 1000)),
    ...(opened.replica === undefined ? {} : { replica: opened.replica.bind(opened) }),
    ...(opened.endWindows === undefined ? {} : { endWindows: opened.endWindows.bind(opened) }),
    close,
    [Symbol.asyncDispose]: close,
  };
}
