import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Counted, SharedLimits, StateBackend } from '../../src/state/index.js';
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

  const count = (tokens = 10, from = limits): Promise<Counted> =>
    from.count({ key, tokens, requestLimit: 2, tokenLimit: 100 });

  it('count requests and tokens together, for all replicas', async () => {
    expect(await count(30)).toMatchObject({ admitted: true, requests: 1, tokens: 30 });
    expect(await count(40, other)).toMatchObject({ admitted: true, requests: 2, tokens: 70 });
    expect(await count(1)).toMatchObject({ admitted: false, requests: 2, tokens: 70 });
  });

  it('take nothing for what they refuse', async () => {
    await count(60);
    expect(await count(41)).toMatchObject({ admitted: false, requests: 1, tokens: 60 });
    expect(await count(40)).toMatchObject({ admitted: true, requests: 2, tokens: 100 });
  });

  it('refuse exactly what is too much when replicas count at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? limits : other).count({ key, tokens: 10, requestLimit: 0, tokenLimit: 70 }),
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
    await other.settle(
      new Map([
        [key, 45],
        [second, 5],
      ]),
    );
    expect(await count(5)).toMatchObject({ admitted: true, tokens: 100 });
    await limits.settle(new Map([[key, -500]]));
    const take = { tokens: 0, requestLimit: 0, tokenLimit: 100 };
    expect(await limits.count({ ...take, key })).toMatchObject({ tokens: 0 });
    expect(await limits.count({ ...take, key: second })).toMatchObject({ requests: 1, tokens: 5 });
  });

  it('settle what is used after a window in the next one, and give nothing back there', async () => {
    await count(50);
    await opened.endWindows();
    await limits.settle(new Map([[key, -50]]));
    await limits.settle(new Map([[key, 30]]));
    expect(await count(10)).toMatchObject({ admitted: true, requests: 1, tokens: 40 });
  });

  it('tell each replica what the others have open', async () => {
    const [one, two, three] = [randomUUID(), randomUUID(), randomUUID()];
    await limits.exchange(one, new Map([[key, 2]]), 60_000);
    await other.exchange(
      two,
      new Map([
        [key, 3],
        ['more', 1],
      ]),
      60_000,
    );
    expect((await limits.exchange(three, new Map(), 60_000)).get(key)).toBe(5);
    expect((await limits.exchange(one, new Map([[key, 1]]), 60_000)).get(key)).toBe(3);
    expect((await limits.exchange(three, new Map(), 60_000)).get(key)).toBe(4);
  });

  it('forget a replica that states nothing any more', async () => {
    await limits.exchange(randomUUID(), new Map([[key, 2]]), 1);
    const asking = randomUUID();
    const heard = async (): Promise<number | undefined> => (await limits.exchange(asking, new Map(), 60_000)).get(key);
    while ((await heard()) !== undefined) await new Promise(setImmediate);
    expect(await heard()).toBeUndefined();
  });
});

function limitsOf({ limits }: StateBackend): SharedLimits {
  if (limits === undefined) throw new Error('the backend has no limits');
  return limits;
}
