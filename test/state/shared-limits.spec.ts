import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Change, Counted, Holder, SharedLimits, StateBackend } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';

/** A backend that replicas share. */
interface OpenedShared extends OpenedBackend {
  replica(): Promise<StateBackend>;
  endWindows(): Promise<void>;
}

const SHARED = BACKENDS.filter(({ name }) => name !== 'memory' && name !== 'sqlite');

it.each(BACKENDS.filter((backend) => !SHARED.includes(backend)))('$name counts in its process', async ({ open }) => {
  await using opened = await open();
  expect(opened.backend.limits).toBeUndefined();
});

describe.each(SHARED)('limits in $name', ({ open }) => {
  let opened: OpenedShared;
  let limits: SharedLimits;
  let other: SharedLimits;
  let key: string;

  beforeAll(async () => {
    opened = (await open()) as OpenedShared;
    limits = limitsOf(opened.backend);
    other = limitsOf(await opened.replica());
  });
  beforeEach(() => {
    key = randomUUID();
  });
  afterAll(() => opened.close());

  const NOTHING = { requests: 0, requestLimit: 0, tokens: 0, tokenLimit: 0, places: 0, placeLimit: 0 };
  const holder = (replica = 'one', leaseMs = 60_000): Holder => ({ replica, leaseMs });
  const count = (tokens = 10, from = limits): Promise<Counted> =>
    from.take({ ...NOTHING, key, requests: 1, requestLimit: 2, tokens, tokenLimit: 100 }, holder());
  const change = (members: Partial<Change>): ReadonlyMap<string, Change> =>
    new Map([[key, { tokens: 0, tokenLimit: 100, places: 0, ...members }]]);
  const open1 = (replica: string, from = limits, placeLimit = 3, leaseMs = 60_000): Promise<Counted> =>
    from.take({ ...NOTHING, key, places: 1, placeLimit }, holder(replica, leaseMs));

  it('count requests and tokens together, for all replicas', async () => {
    expect(await count(30)).toMatchObject({ admitted: true, requests: 1, tokens: 30 });
    expect(await count(40, other)).toMatchObject({ admitted: true, requests: 2, tokens: 70 });
    expect(await count(1)).toMatchObject({ admitted: false, requests: 2, tokens: 70 });
  });

  it('take nothing for what they refuse', async () => {
    await count(60);
    expect(await count(41)).toMatchObject({ admitted: false, requests: 1, tokens: 60 });
    expect(await count(40)).toMatchObject({ admitted: true, requests: 2, tokens: 100 });
    const whole = { ...NOTHING, key, requests: 1, places: 1, placeLimit: 1, tokens: 1, tokenLimit: 100 };
    expect(await limits.take(whole, holder())).toMatchObject({ admitted: false });
    expect(await open1('one')).toMatchObject({ admitted: true, places: 1 });
  });

  it('refuse exactly what is too much when replicas count at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? limits : other).take(
          { ...NOTHING, key, requests: 1, tokens: 10, tokenLimit: 70 },
          holder(String(index % 2)),
        ),
      ),
    );
    expect(all.filter(({ admitted }) => admitted)).toHaveLength(7);
  });

  it('begin again when the window is over', async () => {
    const first = await count(90);
    expect(first.resetMs).toBeGreaterThan(30_000);
    expect(first.resetMs).toBeLessThanOrEqual(60_000);
    await opened.endWindows();
    expect(await count(20)).toMatchObject({ admitted: true, requests: 1, tokens: 20 });
  });

  it('are settled up and down, never below 0', async () => {
    await count(50);
    const second = randomUUID();
    const more = { tokenLimit: 100, places: 0 };
    await other.settle(
      new Map([
        [key, { ...more, tokens: 45 }],
        [second, { ...more, tokens: 5 }],
      ]),
      holder(),
    );
    expect(await count(5)).toMatchObject({ admitted: true, requests: 2, tokens: 100 });
    await limits.settle(change({ tokens: -500 }), holder());
    expect(await limits.take({ ...NOTHING, key, requests: 1 }, holder())).toMatchObject({ requests: 3, tokens: 0 });
    const take = { ...NOTHING, key: second, requests: 1, tokenLimit: 100 };
    expect(await limits.take(take, holder())).toMatchObject({ requests: 1, tokens: 5 });
  });

  it('settle what is used after a window in the next one, and give nothing back there', async () => {
    await count(50);
    await opened.endWindows();
    await limits.settle(change({ tokens: -50 }), holder());
    await limits.settle(change({ tokens: 30 }), holder());
    expect(await count(10)).toMatchObject({ admitted: true, requests: 1, tokens: 40 });
  });

  it('carry what was beyond the limit into the windows that follow, until it is paid', async () => {
    await count(50);
    await limits.settle(change({ tokens: 210 }), holder());
    expect(await count(1)).toMatchObject({ admitted: false, tokens: 260 });
    await opened.endWindows();
    const refused = await count(1);
    expect(refused).toMatchObject({ admitted: false, requests: 0, tokens: 160 });
    expect(refused.resetMs).toBeLessThanOrEqual(60_000);
    await limits.settle(change({ tokens: 1 }), holder());
    await opened.endWindows();
    expect(await count(39)).toMatchObject({ admitted: true, requests: 1, tokens: 100 });
  });

  it('give out exactly as many places as there are when replicas ask at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) => open1(`replica-${index % 3}`, index % 2 === 0 ? limits : other)),
    );
    expect(all.filter(({ admitted }) => admitted)).toHaveLength(3);
    expect(all.filter(({ admitted }) => !admitted).every(({ places }) => places <= 3)).toBe(true);
  });

  it('take places back, for all replicas, and never more than one has', async () => {
    await open1('one');
    await open1('one');
    await open1('two', other);
    await other.settle(change({ places: -2 }), holder('two'));
    expect(await open1('two')).toMatchObject({ admitted: true, places: 3 });
    await limits.settle(change({ places: -2 }), holder('one'));
    expect(await open1('two')).toMatchObject({ admitted: true, places: 2 });
  });

  it('give places beside a window that is full, or is over, and leave it as it is', async () => {
    await count(50);
    await count(50);
    expect(await open1('one')).toMatchObject({ admitted: true, requests: 2, tokens: 100, places: 1 });
    await opened.endWindows();
    expect(await open1('one')).toMatchObject({ admitted: true, places: 2 });
    expect(await count(1)).toMatchObject({ admitted: true, requests: 1, tokens: 1 });
  });

  it('tell a replica how many places it has, and forget those of one whose lease has ended', async () => {
    await open1('one');
    await open1('one');
    await open1('dead', other, 3, 1);
    let found = await open1('two');
    while (!found.admitted) found = await open1('two');
    expect(found.places).toBe(3);
    expect((await limits.renew([key], holder('one'))).get(key)).toBe(2);
    expect((await limits.renew([key, randomUUID()], holder('dead'))).get(key) ?? 0).toBe(0);
    await limits.settle(change({ places: 1 }), holder('three'));
    expect(await open1('one')).toMatchObject({ admitted: false, places: 4 });
  });
});

function limitsOf({ limits }: StateBackend): SharedLimits {
  if (limits === undefined) throw new Error('the backend has no limits');
  return limits;
}
