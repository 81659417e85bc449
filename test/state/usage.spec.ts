import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { DAY_MS, dayOf, type UsageRecord, type UsageStore, type UsageSum } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { createConversation, turnIn } from './conversations.js';
import { newTenant, recordOf as responseOf } from './records.js';
import { endingOf, launch } from './runs.js';

/** Noon of a day in UTC. */
const NOON = Date.UTC(2026, 5, 15, 12);
const DAY = dayOf(NOON);
const WEEK = { firstDay: DAY - 3, endDay: DAY + 4 };

let ids = 0;

function recordOf(tenant: Tenant, parts: Partial<UsageRecord> = {}): UsageRecord {
  ids += 1;
  return {
    responseId: `resp_usage_${process.pid}_${ids}`,
    tenant,
    keyId: null,
    model: 'gpt-5',
    provider: 'acme',
    transport: 'json',
    background: false,
    status: 'completed',
    endedAt: NOON,
    tokens: { input: 10, cached: 4, output: 20, reasoning: 5 },
    ...parts,
  };
}

describe.each(BACKENDS)('usage in $name', ({ open }) => {
  let opened: OpenedBackend;
  let usage: UsageStore;

  beforeAll(async () => {
    opened = await open();
    if (opened.backend.usage === undefined) throw new Error('the backend has no UsageStore');
    usage = opened.backend.usage;
  });
  afterAll(() => opened.close());

  it('adds up turns that agree, and tells others apart', async () => {
    const tenant = newTenant();
    await usage.record([
      recordOf(tenant),
      recordOf(tenant, { tokens: { input: 1, cached: 0, output: 2, reasoning: 0 } }),
      recordOf(tenant, { model: 'other' }),
      recordOf(tenant, { provider: null }),
      recordOf(tenant, { keyId: 'ci' }),
    ]);
    const same = { day: DAY, tenant, turns: 1, tokens: { input: 10, cached: 4, output: 20, reasoning: 5 } };
    expect(sorted(await usage.report({ ...WEEK, tenant }))).toEqual(
      sorted([
        {
          ...{ ...same, turns: 2, model: 'gpt-5', provider: 'acme', keyId: null },
          tokens: { input: 11, cached: 4, output: 22, reasoning: 5 },
        },
        { ...same, model: 'other', provider: 'acme', keyId: null },
        { ...same, model: 'gpt-5', provider: null, keyId: null },
        { ...same, model: 'gpt-5', provider: 'acme', keyId: 'ci' },
      ]),
    );
  });

  it('counts a response once, however often and by how many it is recorded', async () => {
    const tenant = newTenant();
    const records = [recordOf(tenant), recordOf(tenant)];
    await usage.record(records);
    await Promise.all([usage.record(records), usage.record([...records, recordOf(tenant)]), usage.record(records)]);
    expect(await usage.report({ ...WEEK, tenant })).toMatchObject([{ turns: 3, tokens: { input: 30 } }]);
  });

  it('counts turns that are recorded at the same time', async () => {
    const tenant = newTenant();
    await Promise.all(Array.from({ length: 20 }, () => usage.record([recordOf(tenant), recordOf(tenant)])));
    expect(await usage.report({ ...WEEK, tenant })).toMatchObject([{ turns: 40 }]);
  });

  it('divides by days in UTC, and reports the days from the first up to the end', async () => {
    const tenant = newTenant();
    const midnight = DAY * DAY_MS;
    const times = [midnight - 1, midnight, midnight + DAY_MS - 1, midnight + DAY_MS];
    await usage.record(times.map((endedAt) => recordOf(tenant, { endedAt })));
    const daily = async (firstDay: number, endDay: number): Promise<unknown> =>
      sorted(await usage.report({ firstDay, endDay, tenant })).map(({ day, turns }) => [day, turns]);
    expect(await daily(DAY, DAY + 1)).toEqual([[DAY, 2]]);
    expect(await daily(DAY - 1, DAY + 2)).toEqual([
      [DAY - 1, 1],
      [DAY, 2],
      [DAY + 1, 1],
    ]);
  });

  it('shows a tenant nothing of others, and all tenants to who asks for none', async () => {
    const [tenant, other] = [newTenant(), newTenant()];
    await usage.record([recordOf(tenant), recordOf(other)]);
    expect(await usage.report({ ...WEEK, tenant })).toMatchObject([{ tenant, turns: 1 }]);
    const everybody = (await usage.report(WEEK)).map((sum) => sum.tenant);
    expect(everybody).toEqual(expect.arrayContaining([tenant, other]));
    expect(await usage.report({ ...WEEK, tenant: newTenant() })).toEqual([]);
  });

  it.each(['a\0b', 'half \uD800 a pair', 'x'.repeat(3000), ' space', '{brace}', '"quote"\n[1]'])(
    'keeps any name, such as %j',
    async (name) => {
      const tenant = `${newTenant()}${name}` as Tenant;
      await usage.record([recordOf(tenant, { model: name, keyId: name, provider: name })]);
      expect(await usage.report({ ...WEEK, tenant })).toMatchObject([
        { tenant, model: name, keyId: name, provider: name },
      ]);
    },
  );

  it('counts a response together with its save, once', async () => {
    const tenant = newTenant();
    const used = recordOf(tenant);
    const record = responseOf(used.responseId, { usage: used });
    await opened.backend.responses.save(tenant, record);
    expect(await usage.report({ ...WEEK, tenant })).toMatchObject([{ turns: 1, tokens: { input: 10 } }]);
    await opened.backend.responses.save(tenant, record);
    await usage.record([used]);
    expect(await usage.report({ ...WEEK, tenant })).toMatchObject([{ turns: 1 }]);
  });

  it('counts a turn of a conversation together with its save', async () => {
    const tenant = newTenant();
    await createConversation(opened.backend, tenant, 'c');
    const used = recordOf(tenant);
    await turnIn(opened.backend, tenant, 'c', used.responseId, { usage: used });
    expect(await usage.report({ ...WEEK, tenant })).toMatchObject([{ turns: 1 }]);
  });

  it('counts a background response together with its end, once', async () => {
    const tenant = newTenant();
    const { responses } = opened.backend;
    for (const end of ['finish', 'conclude'] as const) {
      const used = recordOf(tenant);
      const { responseId } = used;
      const run = await launch(opened.backend, tenant, responseId);
      const ending = { ...endingOf(responseId, { at: 3 }), usage: used };
      if (end === 'finish') await responses.finish(run, ending);
      else await responses.conclude(tenant, responseId, () => ending, {});
      await usage.record([used]);
    }
    expect(await usage.report({ ...WEEK, tenant })).toMatchObject([{ turns: 2, tokens: { input: 20 } }]);
  });

  it('records nothing without complaint', async () => {
    await expect(usage.record([])).resolves.toBeUndefined();
  });
});

/** Redis forgets by itself, by the lifetimes of its keys. */
describe.each(BACKENDS.filter(({ name }) => !name.startsWith('redis')))('the purge of usage in $name', ({ open }) => {
  it('forgets what has expired, in batches, and nothing else', async () => {
    await using opened = await open();
    const { usage } = opened.backend;
    const tenant = newTenant();
    const old = { endedAt: NOON - 2 * DAY_MS };
    await usage?.record(Array.from({ length: 1500 }, () => recordOf(tenant, old)));
    await usage?.record([recordOf(tenant)]);
    let purges = 1;
    while ((await usage?.purge(NOON - DAY_MS)) === true) purges += 1;
    expect(purges).toBeLessThanOrEqual(3);
    expect(await usage?.report({ ...WEEK, tenant })).toMatchObject([{ day: DAY, turns: 1 }]);
  });
});

function sorted(sums: readonly UsageSum[]): readonly UsageSum[] {
  const nameOf = ({ day, model, provider, keyId }: UsageSum): string => JSON.stringify([day, model, provider, keyId]);
  return sums.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}
