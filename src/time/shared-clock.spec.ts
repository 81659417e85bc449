import { describe, expect, it } from '@jest/globals';

import { FakeClock } from '../testing/index.js';
import { Backoff } from './backoff.js';
import { SharedClock, sharedTimeOf } from './shared-clock.js';

const START = Date.UTC(2026, 0, 1);
const FIVE_MINUTES_MS = 300_000;

/** A machine whose clock can be set, and a server that is asked for the time. */
class Machine {
  elapsed = 1000.25;
  shown = START;
  /** What the clock of the server is ahead of the time that has passed since the start. */
  serverAhead = 0;
  /** The round trips to come, ms; then 1. */
  roundTrips: number[] = [];
  /** Which part of a round trip is over when the server reads its clock. */
  readAt = 0.5;
  asked = 0;
  readonly clock = new SharedClock({ now: () => this.shown, elapsed: () => this.elapsed });

  /** Lets time go by. */
  pass(ms: number): void {
    this.elapsed += ms;
    this.shown += ms;
  }

  get serverTime(): number {
    return START + this.elapsed - 1000.25 + this.serverAhead;
  }

  follow(): Promise<void> {
    return this.clock.follow(async () => {
      this.asked += 1;
      const tookMs = this.roundTrips.shift() ?? 1;
      this.pass(tookMs * this.readAt);
      const time = this.serverTime;
      this.pass(tookMs * (1 - this.readAt));
      return time;
    });
  }
}

describe('a shared clock', () => {
  it('a shared clock is that of the machine until it follows another one', () => {
    const machine = new Machine();
    expect([machine.clock.now(), machine.clock.offsetMs]).toEqual([START, undefined]);
    machine.shown -= FIVE_MINUTES_MS;
    expect(machine.clock.now()).toBe(START - FIVE_MINUTES_MS);
  });

  it.each([-FIVE_MINUTES_MS, FIVE_MINUTES_MS])('a shared clock follows one that is ahead by %i ms', async (ahead) => {
    const machine = new Machine();
    machine.serverAhead = ahead;
    await machine.follow();
    expect([machine.clock.now(), machine.clock.offsetMs]).toEqual([Math.floor(machine.serverTime), ahead]);
    machine.pass(1234.5);
    expect(machine.clock.now()).toBe(Math.floor(machine.serverTime));
  });

  it('a shared clock does not follow who sets the clock of the machine', async () => {
    const machine = new Machine();
    await machine.follow();
    machine.shown -= FIVE_MINUTES_MS;
    expect(machine.clock.now()).toBe(Math.floor(machine.serverTime));
    await machine.follow();
    expect([machine.clock.now(), machine.clock.offsetMs]).toEqual([Math.floor(machine.serverTime), FIVE_MINUTES_MS]);
  });

  it('a shared clock goes by the answer with the shortest round trip', async () => {
    const machine = new Machine();
    machine.readAt = 1;
    machine.roundTrips = [800, 6, 300, 40, 900];
    await machine.follow();
    expect(machine.asked).toBe(5);
    // The server read its clock at the end, and not in the middle.
    expect(machine.clock.now() - machine.serverTime).toBeCloseTo(3, 0);
  });

  it('a shared clock asks no more once an answer was quick', async () => {
    const machine = new Machine();
    machine.roundTrips = [20, 5];
    await machine.follow();
    expect(machine.asked).toBe(2);
  });

  it('a shared clock does not move for less than a round trip can tell', async () => {
    const machine = new Machine();
    await machine.follow();
    machine.serverAhead = 40;
    machine.roundTrips = [80, 80, 80, 80, 80];
    await machine.follow();
    expect(machine.serverTime - machine.clock.now()).toBeCloseTo(40, -1);
    await machine.follow();
    expect(machine.serverTime - machine.clock.now()).toBeLessThan(1);
  });

  it('a shared clock goes forward at once', async () => {
    const machine = new Machine();
    await machine.follow();
    machine.serverAhead = 10_000;
    await machine.follow();
    expect(machine.clock.now()).toBe(Math.floor(machine.serverTime));
  });

  it('a shared clock goes slower rather than back', async () => {
    const machine = new Machine();
    await machine.follow();
    const before = machine.clock.now();
    machine.serverAhead = -10_000;
    await machine.follow();
    const shown = [before];
    for (let second = 0; second < 25; second += 1) {
      shown.push(machine.clock.now());
      machine.pass(1000);
    }
    expect(shown).toEqual(shown.toSorted((one, other) => one - other));
    expect((shown[3] ?? 0) - (shown[2] ?? 0)).toBe(500);
    expect(machine.clock.now()).toBe(Math.floor(machine.serverTime));
  });

  it('a shared clock goes slower from where it is when it is looked at again meanwhile', async () => {
    const machine = new Machine();
    await machine.follow();
    machine.serverAhead = -10_000;
    await machine.follow();
    machine.pass(4000);
    const before = machine.clock.now();
    await machine.follow();
    expect(machine.clock.now()).toBeGreaterThanOrEqual(before);
    machine.pass(15_000);
    expect(machine.clock.now()).toBeGreaterThan(machine.serverTime);
    machine.pass(1000);
    expect(machine.clock.now()).toBe(Math.floor(machine.serverTime));
  });

  it('a shared clock goes on as it was when the other clock cannot be read', async () => {
    const machine = new Machine();
    machine.serverAhead = FIVE_MINUTES_MS;
    await machine.follow();
    await expect(machine.clock.follow(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
    machine.pass(60_000);
    expect(machine.clock.now()).toBe(Math.floor(machine.serverTime));
  });
});

it('the service times what goes by the system as well, unless a program brings a clock of its own', async () => {
  const machine = new Machine();
  machine.serverAhead = FIVE_MINUTES_MS;
  await machine.follow();
  expect(sharedTimeOf(machine.clock)()).toBe(machine.clock.now());
  expect(sharedTimeOf(new FakeClock(0))()).toBeGreaterThan(0);
});

it('a shared clock does not prolong a pause by what a clock is set back', async () => {
  const machine = new Machine();
  const backoff = new Backoff(machine.clock, { firstMs: 100, longestMs: 1000 });
  backoff.failed();
  machine.serverAhead = -FIVE_MINUTES_MS;
  await machine.follow();
  expect(backoff.isWaiting).toBe(false);
  expect(backoff.failed()).toBeLessThanOrEqual(200);
});
