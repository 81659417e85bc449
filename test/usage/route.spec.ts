import { describe, expect, it } from '@jest/globals';

import { asTenant, type Scope } from '../../src/access/index.js';
import { Authenticator, Clock } from '../../src/index.js';
import { DAY_MS, StateBackend } from '../../src/state/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useScriptedService, useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { ShiftedClock } from '../support/clocks.js';
import { askForUsage, resultsOf, usageOf } from '../support/usage.js';

const providers = [ScriptedProvider];
const TURN = { model: 'scripted', input: 'Hi' };
const DAY = DAY_MS / 1000;

interface ErrorAnswer {
  readonly error: { readonly code: string | null; readonly param: string | null; readonly message: string };
}

describe('the query of GET /usage', () => {
  const service = useService({ providers });

  it.each([
    ['bucket_width=1h', 'bucket_width', /'1d'/],
    ['group_by=user', 'group_by[0]', /'model'.*'key_id'/],
    ['start_time=yesterday', 'start_time', /integer/],
    ['start_time=-1', 'start_time', /0/],
    ['start_time=86400&end_time=86400', 'start_time', /before 'end_time'/],
    [`start_time=0&end_time=${367 * DAY}`, 'start_time', /at most 366 days/],
    ['limit=0', 'limit', /1/],
    ['limit=367', 'limit', /366/],
    ['page=x', 'page', /next_page/],
    ['tenant=', 'tenant', /tenant/],
    ['group_bye=model', 'group_bye', /group_by/],
    ['start_tme=1', 'start_tme', /start_time/],
  ])('GET /usage refuses %s, and says what is right', async (query, param, message) => {
    const answer = await askForUsage(service, `?${query}`);
    const { error } = (await answer.json()) as ErrorAnswer;
    expect({ status: answer.status, param: error.param }).toEqual({ status: 400, param });
    expect(error.message).toMatch(message);
  });

  it('GET /usage ignores other parameters', async () => {
    expect((await askForUsage(service, '?api-version=2026-01-01')).status).toBe(200);
  });

  it('GET /usage reports the last seven days, with a bucket for each', async () => {
    const { object, data, has_more, next_page } = await usageOf(service);
    expect({ object, has_more, next_page, buckets: data.length }).toEqual({
      ...{ object: 'page', has_more: false, next_page: null },
      buckets: 7,
    });
    for (const { start_time, end_time } of data) expect([start_time % DAY, end_time - start_time]).toEqual([0, DAY]);
  });

  it('GET /usage is served under /openai/v1 as well', async () => {
    expect((await fetch(`${service.origin}/openai/v1/usage`)).status).toBe(200);
  });

  it('GET /usage pages through buckets, each once', async () => {
    const range = `start_time=0&end_time=${5 * DAY}&limit=2`;
    const starts: number[] = [];
    let page: string | null = '0';
    let pages = 0;
    while (page !== null) {
      const { data, next_page, has_more } = await usageOf(service, `?${range}&page=${page}`);
      expect(has_more).toBe(next_page !== null);
      starts.push(...data.map(({ start_time }) => start_time));
      [page, pages] = [next_page, pages + 1];
    }
    expect(starts).toEqual([0, 1, 2, 3, 4].map((day) => day * DAY));
    expect(pages).toBe(3);
  });
});

/** Tells tenant, key and scopes from the key: `tenant/key/scope+scope`. */
class SpokenGrants extends Authenticator {
  override authenticate({ authorization = '' }: { readonly authorization?: string }) {
    const [tenant = '', keyId = '', scopes = ''] = authorization.replace('Bearer ', '').split('/');
    const all: readonly Scope[] = ['responses:write', 'responses:read', 'responses:delete'];
    return { tenant: asTenant(tenant), keyId, scopes: scopes === '' ? all : (scopes.split('+') as Scope[]) };
  }
}

describe('who may read usage', () => {
  const service = useService(() => startService({ providers, overrides: [[Authenticator, new SpokenGrants()]] }));
  const ask = async (apiKey: string): Promise<unknown> => service.client({ apiKey }).responses.create(TURN);
  const turnsOf = async (query: string, apiKey: string): Promise<unknown> =>
    (await usageOf(service, query, apiKey)).data
      .flatMap(({ results }) => results)
      .map(({ tenant, key_id, turns }) => [tenant, key_id, turns]);

  it('GET /usage shows tenants their own, and the operator all', async () => {
    for (const key of ['acme/ci', 'acme/web', 'acme/web', 'umbrella/lab']) await ask(key);
    expect(await turnsOf('', 'acme/ci')).toEqual([[undefined, undefined, 3]]);
    expect(await turnsOf('?tenant=acme&group_by[]=key_id', 'acme/ci')).toEqual([
      [undefined, 'ci', 1],
      [undefined, 'web', 2],
    ]);
    const operator = 'root/x/admin+responses:read';
    expect(await turnsOf('', operator)).toEqual([]);
    expect(await turnsOf('?tenant=umbrella', operator)).toEqual([[undefined, undefined, 1]]);
    expect(await turnsOf('?tenant=*&group_by=tenant', operator)).toEqual([
      ['acme', undefined, 3],
      ['umbrella', undefined, 1],
    ]);
  });

  it.each(['?tenant=umbrella', '?tenant=nobody', '?tenant=*', '?group_by=tenant'])(
    'GET /usage refuses %s to a tenant',
    async (query) => {
      const answer = await askForUsage(service, query, 'acme/ci');
      expect(answer.status).toBe(403);
      expect((await answer.json()) as ErrorAnswer).toMatchObject({ error: { code: 'missing_scope' } });
    },
  );

  it('GET /usage refuses keys that may not read', async () => {
    expect((await askForUsage(service, '', 'acme/ci/responses:write')).status).toBe(403);
  });
});

describe('the lifetime of usage', () => {
  const clock = new ShiftedClock();
  const service = useScriptedService(() =>
    startService({ providers, environment: { USAGE_RETENTION_DAYS: 2 }, overrides: [[Clock, clock]] }),
  );

  it('usage ends after USAGE_RETENTION_DAYS', async () => {
    await service.client().responses.create(TURN);
    clock.skip(DAY_MS);
    expect(await resultsOf(service, 1)).toHaveLength(1);
    clock.skip(2 * DAY_MS);
    expect(await resultsOf(service, 0)).toEqual([]);
  });
});

describe('a service without usage', () => {
  it('a service without usage says that USAGE_RETENTION_DAYS is 0', async () => {
    await using service = await startService({ providers, environment: { USAGE_RETENTION_DAYS: 0 } });
    await service.client().responses.create(TURN);
    const answer = await askForUsage(service);
    expect(answer.status).toBe(404);
    expect(((await answer.json()) as ErrorAnswer).error.message).toContain('USAGE_RETENTION_DAYS is 0');
    const { usage } = service.app.get<StateBackend, unknown>(StateBackend) as StateBackend;
    expect(await usage?.report({ firstDay: 0, endDay: 100_000 })).toEqual([]);
  });
});
