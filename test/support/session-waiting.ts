import { jest } from '@jest/globals';

import { WriteLock } from '../../src/index.js';
import { SessionGate } from '../../src/resources/sessions/index.js';
import { Clock } from '../../src/time/index.js';
import type { Service } from './service.js';

/** How long the service waits for a lock that it gives back, ms. */
const RELEASE_LIMIT_MS = 1000;
const FOR_EVER_MS = 600_000;

/** Resolves when the next one asks this service for a session: from then on it waits while somebody else has it. */
export function whenAsked({ app }: Service): Promise<void> {
  const gate = app.get(SessionGate);
  const hold = gate.hold.bind(gate);
  return new Promise((resolve) => {
    const spy = jest.spyOn(gate, 'hold').mockImplementation((...names) => {
      spy.mockRestore();
      const holding = hold(...names);
      resolve();
      return holding;
    });
  });
}

/** Makes giving a session back take as long as some requests: who does not wait for it is found out. */
export function slowDownReleases({ app, origin }: Service): void {
  const locks = app.get(WriteLock);
  const tryAcquire = locks.tryAcquire.bind(locks);
  jest.spyOn(locks, 'tryAcquire').mockImplementation(async (...names) => {
    const lease = await tryAcquire(...names);
    if (lease === undefined) return undefined;
    const release = async (): Promise<void> => {
      for (let request = 0; request < 5; request += 1) await fetch(`${origin}/healthz`);
      await lease.release();
    };
    return { fence: lease.fence, renew: () => lease.renew(), release };
  });
  // On a slow machine they would take longer than a release may.
  const clock = app.get(Clock);
  const within = clock.within.bind(clock);
  jest
    .spyOn(clock, 'within')
    .mockImplementation((promise, limitMs) => within(promise, limitMs === RELEASE_LIMIT_MS ? FOR_EVER_MS : limitMs));
}
