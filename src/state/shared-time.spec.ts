import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';

import { FakeClock } from '../testing/index.js';
import { SharedClock, SystemClock, type Timer } from '../time/index.js';
import { RunNotices } from './notices.js';
import { SharedTime } from './shared-time.js';

const FIVE_MINUTES_MS = 300_000;

/** A shared clock over time that only a test lets go by. */
class TestedClock extends SharedClock {
  constructor(readonly time: FakeClock) {
    super({ now: () => time.now(), elapsed: () => time.now() });
  }

  override schedule(delayMs: number, callback: () => void): Timer {
    return this.time.schedule(delayMs, callback);
  }
}

let time: FakeClock;
let clock: TestedClock;
let notices: RunNotices;
let sut: SharedTime;
/** By how much the clock of the storage is ahead; a string for the reason why it cannot be read. */
let ahead: number | string;
let looks: number;
let warnings: string[];

async function read(): Promise<number> {
  looks += 1;
  if (typeof ahead === 'string') throw new Error(ahead);
  return time.now() + ahead;
}

/** Lets a look end: its promises are the only ones. */
function looked(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

beforeEach(() => {
  time = new FakeClock();
  clock = new TestedClock(time);
  notices = new RunNotices();
  sut = new SharedTime(clock, { name: 'PostgreSQL', read, notices });
  [ahead, looks, warnings] = [0, 0, []];
  const ignore = (): void => undefined;
  Logger.overrideLogger({ log: ignore, error: ignore, warn: (text: string) => warnings.push(text) });
});

afterEach(() => {
  sut.stop();
  Logger.overrideLogger(false);
});

it('the shared time sets the clock before it has started, and looks again every minute', async () => {
  ahead = FIVE_MINUTES_MS;
  await sut.start();
  expect(clock.now()).toBe(time.now() + FIVE_MINUTES_MS);
  for (const later of [1000, 2000]) {
    ahead = FIVE_MINUTES_MS + later;
    time.advance(60_000);
    await looked();
    expect(clock.now()).toBe(time.now() + FIVE_MINUTES_MS + later);
  }
  expect(looks).toBe(3);
});

it('the shared time looks again when the storage may be another one', async () => {
  await sut.start();
  ahead = FIVE_MINUTES_MS;
  notices.announceResumed();
  await looked();
  expect(clock.now()).toBe(time.now() + FIVE_MINUTES_MS);
});

it('the shared time fails to start while the storage is away, and can be started again', async () => {
  ahead = 'away';
  await expect(sut.start()).rejects.toThrow('away');
  expect(time.pending).toBe(0);
  ahead = 1000;
  await sut.start();
  await sut.start();
  expect([time.pending, clock.now() - time.now()]).toEqual([1, 1000]);
});

it('the shared time goes on while the storage is away, until it is there again', async () => {
  await sut.start();
  ahead = 'away';
  time.advance(60_000);
  await looked();
  ahead = 1000;
  time.advance(60_000);
  await looked();
  expect(clock.now() - time.now()).toBe(1000);
});

it.each([
  [FIVE_MINUTES_MS, 'the clock of this machine is 300 s behind that of PostgreSQL, which all replicas go by. '],
  [-5001, 'the clock of this machine is 5 s ahead of that of PostgreSQL, which all replicas go by. '],
])('the shared time warns once of a machine that is %i ms off, and names what helps', async (off, warning) => {
  ahead = off;
  await sut.start();
  notices.announceResumed();
  await looked();
  expect(warnings).toEqual([`${warning}Synchronise both with NTP`]);
});

it('the shared time says nothing of what clocks usually differ by', async () => {
  ahead = 5000;
  await sut.start();
  expect(warnings).toEqual([]);
});

it('the shared time leaves nothing behind', async () => {
  await sut.start();
  sut.stop();
  notices.announceResumed();
  expect([time.pending, looks]).toEqual([0, 1]);
  const starting = sut.start();
  sut.stop();
  await starting;
  expect(time.pending).toBe(0);
});

it('the shared time leaves a clock alone that is not to be shared', async () => {
  for (const own of [new FakeClock(), new SystemClock()]) {
    await new SharedTime(own, { name: 'PostgreSQL', read, notices }).start();
  }
  expect(looks).toBe(0);
});
