import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import { DAY_MS, dayOf, type UsageRecord, type UsageStore, type UsageSum } from '../../../state/index.js';
import { requireAlike, requireEntry, requireMatch } from '../assertions.js';
import { createConversation, turnIn } from '../conversations.js';
import { part } from '../part.js';
import { newTenant, recordOf as responseOf } from '../records.js';
import { endingOf, launch } from '../runs.js';
import type { TestedState } from '../tested-state.js';

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

/** Usage is counted once per response. */
export const USAGE = part('usage', 'usage', ({ subject, openOnce, it }) => {
  let opened: TestedState;
  let usage: UsageStore;

  openOnce((state) => {
    opened = state;
    if (opened.backend.usage === undefined) throw new Error('the backend has no UsageStore');
    usage = opened.backend.usage;
  });

  it('usage adds up turns that agree, and tells others apart', async () => {
    const tenant = newTenant();
    await usage.record([
      recordOf(tenant),
      recordOf(tenant, { tokens: { input: 1, cached: 0, output: 2, reasoning: 0 } }),
      recordOf(tenant, { model: 'other' }),
      recordOf(tenant, { provider: null }),
      recordOf(tenant, { keyId: 'ci' }),
    ]);
    const same = { day: DAY, tenant, turns: 1, tokens: { input: 10, cached: 4, output: 20, reasoning: 5 } };
    requireAlike(
      sorted(await usage.report({ ...WEEK, tenant })),
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

  it('usage counts a response once, however often and by how many it is recorded', async () => {
    const tenant = newTenant();
    const records = [recordOf(tenant), recordOf(tenant)];
    await usage.record(records);
    await Promise.all([usage.record(records), usage.record([...records, recordOf(tenant)]), usage.record(records)]);
    requireMatch(await usage.report({ ...WEEK, tenant }), [{ turns: 3, tokens: { input: 30 } }]);
  });

  it('usage counts turns that are recorded at the same time', async () => {
    const tenant = newTenant();
    await Promise.all(Array.from({ length: 20 }, () => usage.record([recordOf(tenant), recordOf(tenant)])));
    requireMatch(await usage.report({ ...WEEK, tenant }), [{ turns: 40 }]);
  });

  it('usage divides by days in UTC, and reports the days from the first up to the end', async () => {
    const tenant = newTenant();
    const midnight = DAY * DAY_MS;
    const times = [midnight - 1, midnight, midnight + DAY_MS - 1, midnight + DAY_MS];
    await usage.record(times.map((endedAt) => recordOf(tenant, { endedAt })));
    const daily = async (firstDay: number, endDay: number): Promise<unknown> =>
      sorted(await usage.report({ firstDay, endDay, tenant })).map(({ day, turns }) => [day, turns]);
    requireAlike(await daily(DAY, DAY + 1), [[DAY, 2]]);
    requireAlike(await daily(DAY - 1, DAY + 2), [
      [DAY - 1, 1],
      [DAY, 2],
      [DAY + 1, 1],
    ]);
  });

  it('usage shows a tenant nothing of others, and all tenants to who asks for none', async () => {
    const [tenant, other] = [newTenant(), newTenant()];
    await usage.record([recordOf(tenant), recordOf(other)]);
    requireMatch(await usage.report({ ...WEEK, tenant }), [{ tenant, turns: 1 }]);
    const everybody = (await usage.report(WEEK)).map((sum) => sum.tenant);
    for (const one of [tenant, other]) requireEntry(everybody, one);
    requireAlike(await usage.report({ ...WEEK, tenant: newTenant() }), []);
  });

  for (const name of ['a\0b', 'half \uD800 a pair', 'x'.repeat(3000), ' space', '{brace}', '"quote"\n[1]']) {
    it(`usage keeps any name, such as ${JSON.stringify(name)}`, async () => {
      const tenant = `${newTenant()}${name}` as Tenant;
      await usage.record([recordOf(tenant, { model: name, keyId: name, provider: name })]);
      requireMatch(await usage.report({ ...WEEK, tenant }), [{ tenant, model: name, keyId: name, provider: name }]);
    });
  }

  it('usage counts a response together with its save, once', async () => {
    const tenant = newTenant();
    const used = recordOf(tenant);
    const record = responseOf(used.responseId, { usage: used });
    await opened.backend.responses.save(tenant, record);
    requireMatch(await usage.report({ ...WEEK, tenant }), [{ turns: 1, tokens: { input: 10 } }]);
    await opened.backend.responses.save(tenant, record);
    await usage.record([used]);
    requireMatch(await usage.report({ ...WEEK, tenant }), [{ turns: 1 }]);
  });

  it('usage counts a turn of a conversation together with its save', async () => {
    const tenant = newTenant();
    await createConversation(opened.backend, tenant, 'c');
    const used = recordOf(tenant);
    await turnIn(opened.backend, tenant, 'c', used.responseId, { usage: used });
    requireMatch(await usage.report({ ...WEEK, tenant }), [{ turns: 1 }]);
  });

  it('usage counts a background response together with its end, once', async () => {
    const tenant = newTenant();
    const { runs } = opened.backend;
    for (const end of ['finish', 'conclude'] as const) {
      const used = recordOf(tenant);
      const { responseId } = used;
      const run = await launch(opened.backend, tenant, responseId);
      const ending = { ...endingOf(responseId, { at: 3 }), usage: used };
      if (end === 'finish') await runs.finish(run, ending);
      else await runs.conclude(tenant, responseId, () => ending, {});
      await usage.record([used]);
    }
    requireMatch(await usage.report({ ...WEEK, tenant }), [{ turns: 2, tokens: { input: 20 } }]);
  });

  it('usage adds up more tokens than a number is exact for', async () => {
    const tenant = newTenant();
    const most = Number.MAX_SAFE_INTEGER;
    const tokens = { input: most, cached: most, output: most, reasoning: most };
    await usage.record(Array.from({ length: 1100 }, () => recordOf(tenant, { tokens })));
    const [sum] = await usage.report({ ...WEEK, tenant });
    assert.equal(sum?.turns, 1100);
    for (const count of Object.values(sum.tokens)) assert.ok(count > 1000 * most, `${count} tokens`);
  });

  it('usage records nothing without complaint', async () => {
    await usage.record([]);
  });

  if (subject.forgetsUsage === true) return;

  it('usage forgets what has expired, in batches, and nothing else', async () => {
    const tenant = newTenant();
    const old = { endedAt: NOON - 2 * DAY_MS };
    await usage.record(Array.from({ length: 1500 }, () => recordOf(tenant, old)));
    await usage.record([recordOf(tenant)]);
    let purges = 1;
    while (await usage.purge(NOON - DAY_MS)) purges += 1;
    assert.ok(purges <= 3, `${purges} batches`);
    requireMatch(await usage.report({ ...WEEK, tenant }), [{ day: DAY, turns: 1 }]);
  });
});

function sorted(sums: readonly UsageSum[]): readonly UsageSum[] {
  const nameOf = ({ day, model, provider, keyId }: UsageSum): string => JSON.stringify([day, model, provider, keyId]);
  return sums.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}
