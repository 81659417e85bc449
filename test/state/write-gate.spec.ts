import { setImmediate } from 'node:timers/promises';

import { beforeEach, describe, expect, it } from '@jest/globals';

import { Environment } from '../../src/config/index.js';
import { type HeldLock, WriteGate } from '../../src/state/locks/index.js';
import { ApiError } from '../../src/protocol/index.js';
import type { WriteLease } from '../../src/state/index.js';
import { FakeClock } from '../../src/testing/index.js';

describe('a lock', () => {
  const environment = new Environment();
  let clock: FakeClock;
  let gate: WriteGate;
  let held: HeldLock;
  let isOurs: boolean;
  let releases: number;
  let losses: number;
  let isAway: boolean;

  const lease: WriteLease = {
    fence: 1,
    renew: async () => isOurs,
    release: async () => {
      releases += 1;
      if (isAway) throw new Error('the storage is away');
    },
  };
  const hold = async (): Promise<HeldLock> => {
    const taken = await gate.hold({
      key: 'lock',
      tryAcquire: async () => lease,
      refuse: () => ApiError.badRequest('locked', 'session_id'),
      waitMs: 0,
      onLost: () => (losses += 1),
    });
    return taken.held;
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await setImmediate();
  };
  const passRenewal = (): Promise<void> => pass(environment.SESSION_LOCK_TTL_MS / 3);

  beforeEach(async () => {
    clock = new FakeClock();
    [gate, isOurs, isAway, releases, losses] = [new WriteGate(clock, environment), true, false, 0, 0];
    held = await hold();
  });

  it('a lock that is released with a save is not released again, and the next waiter of the process gets it', async () => {
    await held.releaseWith(() => undefined);
    await held.release();
    expect(releases).toBe(0);
    expect(clock.pending).toBe(0);
    await expect(hold()).resolves.toMatchObject({ fence: 1 });
  });

  it('a lock that is released with a save is not lost while the save that releases it is not confirmed', async () => {
    const save = Promise.withResolvers<undefined>();
    const saving = held.releaseWith(() => save.promise);
    isOurs = false;
    await passRenewal();
    save.resolve(undefined);
    await saving;
    expect(losses).toBe(0);
  });

  it.each<[string, () => void | Promise<void>]>([
    ['throws', () => fail()],
    ['rejects', () => Promise.resolve().then(fail)],
  ])('a lock that is released with a save stays held when the save %s', async (_, save) => {
    await expect((async () => held.releaseWith(save))()).rejects.toThrow('not saved');
    isOurs = false;
    await passRenewal();
    expect(losses).toBe(1);
    await held.release();
    expect(releases).toBe(1);
  });

  it('a lock that could not be released is released when the storage is back', async () => {
    isAway = true;
    await held.release();
    await pass(1000);
    expect(releases).toBe(2);
    isAway = false;
    await pass(1000);
    expect(releases).toBe(3);
    expect(clock.pending).toBe(0);
  });

  it('a lock that cannot be released is left to expire, or to the end of the process', async () => {
    isAway = true;
    await held.release();
    for (let passed = 0; passed < environment.SESSION_LOCK_TTL_MS; passed += 1000) await pass(1000);
    expect(clock.pending).toBe(0);
    expect(releases).toBe(environment.SESSION_LOCK_TTL_MS / 1000);
    await (await hold()).release();
    gate.onApplicationShutdown();
    expect(clock.pending).toBe(0);
  });
});

function fail(): never {
  throw new Error('not saved');
}
