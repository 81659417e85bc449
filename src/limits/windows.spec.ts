import { beforeEach, describe, expect, it } from '@jest/globals';

import { type Counted, SharedLimits, type StateBackend, StoreUnavailableError, type Take } from '../state/index.js';
import { FakeClock } from '../testing/index.js';
import { LocalWindows } from './local-windows.js';
import { Windows } from './windows.js';

/** Shared counters that note what they are asked, and can be away. */
class NotedLimits extends SharedLimits {
  readonly counted: Take[] = [];
  readonly settled: ReadonlyMap<string, number>[] = [];
  answer: Omit<Counted, 'tokens'> = { admitted: true, requests: 1, resetMs: 60_000 };
  isAway = false;

  override async count(take: Take): Promise<Counted> {
    this.counted.push(take);
    if (this.isAway) throw new StoreUnavailableError('away');
    return { ...this.answer, tokens: take.tokens };
  }

  override async settle(tokens: ReadonlyMap<string, number>): Promise<void> {
    if (this.isAway) throw new StoreUnavailableError('away');
    this.settled.push(tokens);
  }

  override async exchange(): Promise<ReadonlyMap<string, number>> {
    return new Map();
  }
}

const TAKE: Take = { key: 'red', requestLimit: 2, tokenLimit: 100, tokens: 10 };

let clock: FakeClock;
let shared: NotedLimits;
let windows: Windows;

beforeEach(() => {
  clock = new FakeClock();
  shared = new NotedLimits();
  windows = new Windows({ limits: shared } as unknown as StateBackend, clock);
});

describe('shared windows', () => {
  it('are asked once for the requests and the tokens of a turn', async () => {
    await windows.count(TAKE);
    expect(shared.counted).toEqual([TAKE]);
  });

  it('are not asked again for what they have just refused', async () => {
    shared.answer = { admitted: false, requests: 2, resetMs: 30_000 };
    for (let attempt = 0; attempt < 5; attempt++) expect((await windows.count(TAKE)).admitted).toBe(false);
    expect(shared.counted).toHaveLength(1);
    clock.advance(29_999);
    expect(await windows.count(TAKE)).toMatchObject({ admitted: false, resetMs: 1 });
    clock.advance(1);
    await windows.count(TAKE);
    expect(shared.counted).toHaveLength(2);
  });

  it('are asked soon again when tokens were missing, which may come back, and at once for a smaller turn', async () => {
    shared.answer = { admitted: false, requests: 1, resetMs: 30_000 };
    await windows.count(TAKE);
    await windows.count({ ...TAKE, tokens: 9 });
    expect(shared.counted).toHaveLength(2);
    clock.advance(250);
    await windows.count(TAKE);
    expect(shared.counted).toHaveLength(3);
  });

  it('settle many turns together, a few times a second', async () => {
    for (let turn = 0; turn < 100; turn++) windows.settle('red', 3);
    windows.settle('blue', -5);
    windows.settle('green', 0);
    expect(shared.settled).toEqual([]);
    clock.advance(250);
    await windows.close();
    expect(shared.settled).toEqual([
      new Map([
        ['red', 300],
        ['blue', -5],
      ]),
    ]);
  });

  it('that are away leave the process to count for itself, without asking them for each turn', async () => {
    shared.isAway = true;
    const admitted = async (): Promise<boolean> => (await windows.count(TAKE)).admitted;
    expect([await admitted(), await admitted(), await admitted()]).toEqual([true, true, false]);
    expect(shared.counted).toHaveLength(1);
    shared.isAway = false;
    clock.advance(1000);
    expect(await admitted()).toBe(true);
    expect(shared.counted).toHaveLength(2);
  });
});

describe('windows of one process', () => {
  it('are forgotten when they are over, however many tenants there were', () => {
    const local = new LocalWindows(clock);
    for (let tenant = 0; tenant < 1000; tenant++) local.count({ ...TAKE, key: `tenant-${tenant}` });
    expect(local.size).toBe(1000);
    clock.advance(120_000);
    local.count(TAKE);
    expect(local.size).toBe(1);
  });
});
