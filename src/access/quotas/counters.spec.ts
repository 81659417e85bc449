import { beforeEach, describe, expect, it } from '@jest/globals';

import {
  type Change,
  type Counted,
  type LookedAt,
  SharedLimits,
  type Standing,
  type StateBackend,
  StoreUnavailableError,
  type Take,
} from '../../state/index.js';
import { FakeClock } from '../../testing/index.js';
import { Counters } from './counters.js';
import { LocalWindows } from './local-windows.js';

/** Shared counters that note what they are asked, and can be away. */
class NotedLimits extends SharedLimits {
  readonly taken: Take[] = [];
  readonly settled: ReadonlyMap<string, Change>[] = [];
  readonly renewed: (readonly string[])[] = [];
  answer: Omit<Counted, 'tokens'> = { admitted: true, requests: 1, places: 1, resetMs: 60_000 };
  /** The places that are stored for the process. */
  stored = new Map<string, number>();
  isAway = false;

  override async take(take: Take): Promise<Counted> {
    this.taken.push(take);
    if (this.isAway) throw new StoreUnavailableError('away');
    return { ...this.answer, tokens: take.tokens };
  }

  override async read(counters: readonly LookedAt[]): Promise<readonly Standing[]> {
    if (this.isAway) throw new StoreUnavailableError('away');
    return counters.map(({ tokenLimit }) => ({ requests: 7, tokens: tokenLimit, places: 7, resetMs: 7 }));
  }

  override async settle(changes: ReadonlyMap<string, Change>): Promise<void> {
    if (this.isAway) throw new StoreUnavailableError('away');
    this.settled.push(changes);
  }

  override async renew(keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
    this.renewed.push(keys);
    if (this.isAway) throw new StoreUnavailableError('away');
    return this.stored;
  }
}

const TAKE: Take = { key: 'red', requests: 1, requestLimit: 2, tokens: 10, tokenLimit: 100, places: 0, placeLimit: 0 };
const PLACE: Take = { ...TAKE, requests: 0, tokens: 0, places: 1, placeLimit: 2 };

let clock: FakeClock;
let shared: NotedLimits;
let counters: Counters;

beforeEach(() => {
  clock = new FakeClock();
  shared = new NotedLimits();
  counters = new Counters({ limits: shared } as unknown as StateBackend, clock);
});

describe('shared counters', () => {
  it('shared counters are asked once for the requests and the tokens of a turn', async () => {
    await counters.take(TAKE);
    expect(shared.taken).toEqual([TAKE]);
  });

  it('shared counters are not asked again for what they have just refused', async () => {
    shared.answer = { ...shared.answer, admitted: false, requests: 2, resetMs: 30_000 };
    for (let attempt = 0; attempt < 5; attempt++) expect((await counters.take(TAKE)).admitted).toBe(false);
    expect(shared.taken).toHaveLength(1);
    clock.advance(29_999);
    expect(await counters.take(TAKE)).toMatchObject({ admitted: false, resetMs: 1 });
    clock.advance(1);
    await counters.take(TAKE);
    expect(shared.taken).toHaveLength(2);
  });

  it('shared counters are asked soon again when tokens were missing, which may come back, and at once for a smaller turn', async () => {
    shared.answer = { ...shared.answer, admitted: false, resetMs: 30_000 };
    const large = { ...TAKE, tokens: 60 };
    await counters.take(large);
    await counters.take({ ...TAKE, tokens: 59 });
    expect(shared.taken).toHaveLength(2);
    clock.advance(250);
    await counters.take(large);
    expect(shared.taken).toHaveLength(3);
  });

  it('shared counters settle many turns together, a few times a second', async () => {
    for (let turn = 0; turn < 100; turn++) counters.settle('red', { tokens: 3, tokenLimit: 9 });
    counters.settle('blue', { tokens: -5, tokenLimit: 8 });
    counters.settle('green', { tokens: 0 });
    expect(shared.settled).toEqual([]);
    clock.advance(250);
    await counters.close();
    expect(shared.settled).toEqual([
      new Map([
        ['red', { tokens: 300, tokenLimit: 9, places: 0 }],
        ['blue', { tokens: -5, tokenLimit: 8, places: 0 }],
      ]),
    ]);
  });

  it('shared counters that are away leave the process to count for itself, without asking them for each turn', async () => {
    shared.isAway = true;
    const admitted = async (): Promise<boolean> => (await counters.take(TAKE)).admitted;
    expect([await admitted(), await admitted(), await admitted()]).toEqual([true, true, false]);
    expect(shared.taken).toHaveLength(1);
    shared.isAway = false;
    clock.advance(1000);
    expect(await admitted()).toBe(true);
    expect(shared.taken).toHaveLength(2);
  });
});

describe('counters that are looked at', () => {
  const LOOKED_AT = [{ key: 'red', tokenLimit: 100 }];

  it('counters that are looked at are the shared ones', async () => {
    expect(await counters.read(LOOKED_AT)).toEqual([{ requests: 7, tokens: 100, places: 7, resetMs: 7 }]);
  });

  it('counters that are looked at are those of the process while the storage is away, or where there is none', async () => {
    shared.isAway = true;
    await counters.take(TAKE);
    const own = { requests: 1, tokens: 10, places: 0, resetMs: 60_000 };
    expect(await counters.read([...LOOKED_AT, { key: 'blue', tokenLimit: 0 }])).toEqual([
      own,
      { requests: 0, tokens: 0, places: 0, resetMs: 0 },
    ]);
    const alone = new Counters({} as StateBackend, clock);
    await alone.take(TAKE);
    expect(await alone.read(LOOKED_AT)).toEqual([own]);
    clock.advance(60_000);
    expect(await alone.read(LOOKED_AT)).toEqual([{ ...own, requests: 0, tokens: 0, resetMs: 0 }]);
  });
});

describe('shared places', () => {
  /** Lets what was sent be answered. */
  const answered = (): Promise<void> => new Promise(setImmediate);

  it('shared places are not asked for beyond those of this process, and are asked for again as soon as one is free', async () => {
    await counters.take(PLACE);
    await counters.take(PLACE);
    expect(await counters.take(PLACE)).toMatchObject({ admitted: false, places: 2 });
    expect(shared.taken).toHaveLength(2);
    counters.settle('red', { places: -1 });
    expect(shared.settled).toEqual([new Map([['red', { tokens: 0, tokenLimit: 0, places: -1 }]])]);
    expect(await counters.take(PLACE)).toMatchObject({ admitted: true });
  });

  it('shared places that were refused are asked for again: they may be free at any moment', async () => {
    shared.answer = { ...shared.answer, admitted: false, places: 2 };
    await counters.take(PLACE);
    await counters.take(PLACE);
    expect(shared.taken).toHaveLength(2);
    expect(counters.placesOf('red')).toBe(0);
  });

  it('shared places are renewed while they are taken, and no longer', async () => {
    await counters.take(PLACE);
    shared.stored = new Map([['red', 1]]);
    clock.advance(5000);
    await answered();
    expect(shared.renewed).toEqual([['red']]);
    expect(shared.settled).toEqual([]);
    counters.settle('red', { places: -1 });
    await answered();
    shared.stored = new Map();
    for (let renewal = 0; renewal < 3; renewal++) {
      clock.advance(5000);
      await answered();
    }
    expect(shared.renewed).toHaveLength(2);
    expect(shared.settled).toHaveLength(1);
  });

  it.each([
    ['lost', 0, 1],
    ['counted twice', 2, -1],
  ])('shared places that were %s are put right', async (_, stored, places) => {
    await counters.take(PLACE);
    shared.stored = new Map([['red', stored]]);
    clock.advance(5000);
    await answered();
    expect(shared.settled).toEqual([new Map([['red', { tokens: 0, tokenLimit: 0, places }]])]);
  });

  it('shared places that change while they are renewed are left alone', async () => {
    await counters.take(PLACE);
    const { promise, resolve } = Promise.withResolvers<ReadonlyMap<string, number>>();
    shared.renew = () => promise;
    clock.advance(5000);
    await answered();
    await counters.take(PLACE);
    resolve(new Map([['red', 1]]));
    await answered();
    expect(shared.settled).toEqual([]);
  });

  it('shared places are counted by the process while the storage is away, and stored when it is back', async () => {
    shared.isAway = true;
    expect(await counters.take(PLACE)).toMatchObject({ admitted: true, places: 1 });
    expect(await counters.take(PLACE)).toMatchObject({ admitted: true, places: 2 });
    expect(await counters.take(PLACE)).toMatchObject({ admitted: false });
    shared.isAway = false;
    clock.advance(5000);
    await answered();
    expect(shared.settled).toEqual([new Map([['red', { tokens: 0, tokenLimit: 0, places: 2 }]])]);
  });

  it('shared places are all given back when the process ends', async () => {
    await counters.take(PLACE);
    await counters.take(PLACE);
    await counters.close();
    expect(shared.settled).toEqual([new Map([['red', { tokens: 0, tokenLimit: 0, places: -2 }]])]);
  });
});

describe('windows of one process', () => {
  it('the windows of one process are forgotten when they have no effect any more, however many tenants there were', () => {
    const local = new LocalWindows(clock);
    for (let tenant = 0; tenant < 1000; tenant++) local.take({ ...TAKE, key: `tenant-${tenant}` });
    expect(local.size).toBe(1000);
    clock.advance(62 * 60_000);
    local.take(TAKE);
    expect(local.size).toBe(1);
  });

  it('the windows of a process begin with what those before had beyond their limit, less the limits of the minutes between', () => {
    const local = new LocalWindows(clock);
    local.take(TAKE);
    local.settle('red', 340, 100);
    expect(local.take(TAKE)).toMatchObject({ admitted: false, tokens: 350, resetMs: 60_000 });
    clock.advance(60_000);
    expect(local.take(TAKE)).toMatchObject({ admitted: false, requests: 0, tokens: 250, resetMs: 60_000 });
    clock.advance(90_000);
    expect(local.take(TAKE)).toMatchObject({ admitted: false, tokens: 150, resetMs: 30_000 });
    clock.advance(30_000);
    expect(local.take({ ...TAKE, tokens: 50 })).toMatchObject({ admitted: true, requests: 1, tokens: 100 });
  });
});
