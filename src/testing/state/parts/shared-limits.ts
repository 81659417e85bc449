import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import type { Change, Counted, Holder, SharedLimits, Standing, StateBackend } from '../../../state/index.js';
import { requireMatch } from '../assertions.js';
import { part } from '../part.js';
import type { TestedState } from '../tested-state.js';

/** Limits that replicas share. */
export const SHARED_LIMITS = part('limits', 'limits', ({ openOnce, it, beforeEach }) => {
  let opened: TestedState;
  let limits: SharedLimits;
  let other: SharedLimits;
  let key: string;

  openOnce(async (state) => {
    opened = state;
    limits = limitsOf(opened.backend);
    other = limitsOf(await given(opened.replica)());
  });
  beforeEach(() => {
    key = randomUUID();
  });

  const NOTHING = { requests: 0, requestLimit: 0, tokens: 0, tokenLimit: 0, places: 0, placeLimit: 0 };
  const holder = (replica = 'one', leaseMs = 60_000): Holder => ({ replica, leaseMs });
  const count = (tokens = 10, from = limits): Promise<Counted> =>
    from.take({ ...NOTHING, key, requests: 1, requestLimit: 2, tokens, tokenLimit: 100 }, holder());
  const change = (members: Partial<Change>): ReadonlyMap<string, Change> =>
    new Map([[key, { tokens: 0, tokenLimit: 100, places: 0, ...members }]]);
  const open1 = (replica: string, from = limits, placeLimit = 3, leaseMs = 60_000): Promise<Counted> =>
    from.take({ ...NOTHING, key, places: 1, placeLimit }, holder(replica, leaseMs));

  it('limits count requests and tokens together, for all replicas', async () => {
    requireMatch(await count(30), { admitted: true, requests: 1, tokens: 30 });
    requireMatch(await count(40, other), { admitted: true, requests: 2, tokens: 70 });
    requireMatch(await count(1), { admitted: false, requests: 2, tokens: 70 });
  });

  it('limits take nothing for what they refuse', async () => {
    await count(60);
    requireMatch(await count(41), { admitted: false, requests: 1, tokens: 60 });
    requireMatch(await count(40), { admitted: true, requests: 2, tokens: 100 });
    const whole = { ...NOTHING, key, requests: 1, places: 1, placeLimit: 1, tokens: 1, tokenLimit: 100 };
    requireMatch(await limits.take(whole, holder()), { admitted: false });
    requireMatch(await open1('one'), { admitted: true, places: 1 });
  });

  it('limits refuse exactly what is too much when replicas count at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? limits : other).take(
          { ...NOTHING, key, requests: 1, tokens: 10, tokenLimit: 70 },
          holder(String(index % 2)),
        ),
      ),
    );
    assert.equal(all.filter(({ admitted }) => admitted).length, 7);
  });

  it('limits begin again when the window is over', async () => {
    const first = await count(90);
    assert.ok(first.resetMs > 30_000);
    assert.ok(first.resetMs <= 60_000);
    await given(opened.endWindows)();
    requireMatch(await count(20), { admitted: true, requests: 1, tokens: 20 });
  });

  it('limits are read as they stand, which changes nothing', async () => {
    const unknown = randomUUID();
    const read = (from = limits): Promise<readonly Standing[]> =>
      from.read([
        { key: unknown, tokenLimit: 100 },
        { key, tokenLimit: 100 },
      ]);
    const none = { requests: 0, tokens: 0, places: 0, resetMs: 0 };
    assert.deepEqual(await read(), [none, none]);
    await count(60);
    await open1('one');
    await open1('two', other);
    for (const from of [limits, other]) {
      const [first, second] = await read(from);
      assert.deepEqual(first, none);
      requireMatch(second, { requests: 1, tokens: 60, places: 2 });
      assert.ok((second?.resetMs ?? 0) > 30_000);
    }
    await limits.settle(change({ tokens: 100 }), holder());
    await given(opened.endWindows)();
    requireMatch((await read())[1], { requests: 0, tokens: 60, places: 2, resetMs: 0 });
    requireMatch(await count(40), { admitted: true, requests: 1, tokens: 100 });
  });

  it('limits are settled up and down, never below 0', async () => {
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
    requireMatch(await count(5), { admitted: true, requests: 2, tokens: 100 });
    await limits.settle(change({ tokens: -500 }), holder());
    requireMatch(await limits.take({ ...NOTHING, key, requests: 1 }, holder()), { requests: 3, tokens: 0 });
    const take = { ...NOTHING, key: second, requests: 1, tokenLimit: 100 };
    requireMatch(await limits.take(take, holder()), { requests: 1, tokens: 5 });
  });

  it('limits settle what is used after a window in the next one, and give nothing back there', async () => {
    await count(50);
    await given(opened.endWindows)();
    await limits.settle(change({ tokens: -50 }), holder());
    await limits.settle(change({ tokens: 30 }), holder());
    requireMatch(await count(10), { admitted: true, requests: 1, tokens: 40 });
  });

  it('limits carry what was beyond the limit into the windows that follow, until it is paid', async () => {
    await count(50);
    await limits.settle(change({ tokens: 210 }), holder());
    requireMatch(await count(1), { admitted: false, tokens: 260 });
    await given(opened.endWindows)();
    const refused = await count(1);
    requireMatch(refused, { admitted: false, requests: 0, tokens: 160 });
    assert.ok(refused.resetMs <= 60_000);
    await limits.settle(change({ tokens: 1 }), holder());
    await given(opened.endWindows)();
    requireMatch(await count(39), { admitted: true, requests: 1, tokens: 100 });
  });

  it('limits give out exactly as many places as there are when replicas ask at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) => open1(`replica-${index % 3}`, index % 2 === 0 ? limits : other)),
    );
    assert.equal(all.filter(({ admitted }) => admitted).length, 3);
    assert.equal(
      all.filter(({ admitted }) => !admitted).every(({ places }) => places <= 3),
      true,
    );
  });

  it('limits take places back, for all replicas, and never more than one has', async () => {
    await open1('one');
    await open1('one');
    await open1('two', other);
    await other.settle(change({ places: -2 }), holder('two'));
    requireMatch(await open1('two'), { admitted: true, places: 3 });
    await limits.settle(change({ places: -2 }), holder('one'));
    requireMatch(await open1('two'), { admitted: true, places: 2 });
  });

  it('limits give places beside a window that is full, or is over, and leave it as it is', async () => {
    await count(50);
    await count(50);
    requireMatch(await open1('one'), { admitted: true, requests: 2, tokens: 100, places: 1 });
    await given(opened.endWindows)();
    requireMatch(await open1('one'), { admitted: true, places: 2 });
    requireMatch(await count(1), { admitted: true, requests: 1, tokens: 1 });
  });

  it('limits tell a replica how many places it has, and forget those of one whose lease has ended', async () => {
    await open1('one');
    await open1('one');
    await open1('dead', other, 3, 1);
    let found = await open1('two');
    while (!found.admitted) found = await open1('two');
    assert.equal(found.places, 3);
    assert.equal((await limits.renew([key], holder('one'))).get(key), 2);
    assert.equal((await limits.renew([key, randomUUID()], holder('dead'))).get(key) ?? 0, 0);
    await limits.settle(change({ places: 1 }), holder('three'));
    requireMatch(await open1('one'), { admitted: false, places: 4 });
  });
});

function limitsOf({ limits }: StateBackend): SharedLimits {
  if (limits === undefined) throw new Error('the backend has no limits');
  return limits;
}

function given<T>(member: T | undefined): T {
  if (member === undefined) throw new Error('what opens a backend with limits must give replica() and endWindows()');
  return member;
}
