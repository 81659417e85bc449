import { beforeAll, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const START = Date.UTC(2026, 5, 1) / 1000;

/** Responses, oldest first, one a second: what they are made with, and how they end. */
const MADE: readonly (readonly [letter: string, body: object, status: string, session?: string])[] = [
  ['a', { model: 'red', metadata: { team: 'x', place: 'north' } }, 'completed'],
  ['b', { model: 'red', metadata: { team: 'x' } }, 'incomplete', 'one'],
  ['c', { model: 'blue', metadata: { team: 'y' } }, 'failed', 'one'],
  ['d', { model: 'blue' }, 'completed', 'two'],
  ['e', { model: 'red', metadata: { team: 'y', place: 'north' } }, 'completed', 'one'],
  ['f', { model: 'a model/with %&=? "things"', metadata: { 'a [key] &=?%': 'a value &=?%' } }, 'completed'],
];
const LETTERS = MADE.map(([letter]) => letter).join('');

describe.each(STATES)('the list of all responses in $state', ({ open }) => {
  const clock = new FakeClock(START * 1000);
  const service = useService(() =>
    startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { API_KEYS: 'me:sk-me,you:sk-you' },
      overrides: [[Clock, clock]],
    }),
  );
  let api: ApiClient;
  let ids: readonly string[];

  beforeAll(async () => {
    api = new ApiClient(service.baseURL, { authorization: 'Bearer sk-me' });
    const provider = service.app.get(ScriptedProvider);
    const made: string[] = [];
    for (const [letter, body, status, session] of MADE) {
      if (status === 'incomplete') provider.reply({ type: 'finish', reason: 'length' });
      if (status === 'failed') {
        provider.play(async function* () {
          yield { type: 'text', delta: 'I was' };
          throw new Error('broken');
        });
      }
      const caller = session === undefined ? api : api.with({ 'x-session-id': session });
      made.push((await caller.create({ input: letter, ...body })).id);
      clock.advance(1000);
    }
    ids = made;
    await api.create({ store: false });
    await new ApiClient(service.baseURL, { authorization: 'Bearer sk-you' }).create({ metadata: { team: 'x' } });
  });

  const pathOf = (query: string): string =>
    `responses?${query.replaceAll(/@(\w)/g, (_, letter: string) => ids[LETTERS.indexOf(letter)] ?? '')}`;
  const lettersOf = async (query: string): Promise<string> =>
    (await api.idsOf(pathOf(query))).map((id) => LETTERS[ids.indexOf(id)] ?? '?').join('');

  it.each([
    ['', 'fedcba'],
    ['order=asc', 'abcdef'],
    ['session_id=one', 'ecb'],
    ['session_id=one&order=asc', 'bce'],
    ['session_id=@a', 'a'],
    ['session_id=nobody', ''],
    ['model=red', 'eba'],
    ['model=blue', 'dc'],
    ['model=RED', ''],
    ['model=re', ''],
    [`model=${encodeURIComponent('a model/with %&=? "things"')}`, 'f'],
    ['status=completed', 'feda'],
    ['status=incomplete', 'b'],
    ['status=failed', 'c'],
    ['status=cancelled', ''],
    ['status=in_progress', ''],
    ['status=queued', ''],
    ['metadata[team]=x', 'ba'],
    ['metadata%5Bteam%5D=y', 'ec'],
    ['metadata[team]=x&metadata[place]=north', 'a'],
    ['metadata[place]=north', 'ea'],
    ['metadata[team]=north', ''],
    ['metadata[place]=', ''],
    ['metadata[nothing]=x', ''],
    [`metadata[${encodeURIComponent('a [key] &=?%')}]=${encodeURIComponent('a value &=?%')}`, 'f'],
    [`created_at[gte]=${START + 2}`, 'fedc'],
    [`created_at[gt]=${START + 2}`, 'fed'],
    [`created_at[lt]=${START + 2}`, 'ba'],
    [`created_at[lte]=${START + 2}`, 'cba'],
    [`created_at[gte]=${START + 1}&created_at[lt]=${START + 4}`, 'dcb'],
    [`created_at[gt]=${START + 1}&created_at[lte]=${START + 4}`, 'edc'],
    [`created_at[gte]=${START + 1}&created_at[gt]=${START + 3}`, 'fe'],
    [`created_at[gte]=${START + 3}&created_at[lt]=${START + 3}`, ''],
    ['created_at[gte]=0&created_at[lte]=8640000000000', 'fedcba'],
    ['session_id=one&model=red', 'eb'],
    ['session_id=one&model=red&status=completed', 'e'],
    ['session_id=one&metadata[team]=y&order=asc', 'ce'],
    [`model=red&metadata[team]=x&status=completed&session_id=@a&created_at[lte]=${START}`, 'a'],
    [`model=red&metadata[team]=x&status=completed&created_at[gt]=${START}`, ''],
    ['model=red&limit=2', 'eb'],
    ['model=red&limit=2&after=@b', 'a'],
    ['model=red&before=@a&limit=1', 'b'],
    ['status=completed&order=asc&after=@a&limit=2', 'de'],
    ['metadata[team]=x&order=asc&before=@b', 'a'],
    ['unknown=x', 'fedcba'],
  ])('the list of all responses shows with ?%s', async (query, expected) => {
    expect(await lettersOf(query)).toBe(expected);
  });

  it('the list of all responses is a list like every other', async () => {
    const { body } = await api.get(pathOf('limit=2'));
    const responses = await Promise.all([ids[5], ids[4]].map((id) => api.get(`responses/${id ?? ''}`)));
    expect(body).toEqual({
      object: 'list',
      data: responses.map((response) => response.body),
      first_id: ids[5],
      last_id: ids[4],
      has_more: true,
    });
    const empty = { object: 'list', data: [], first_id: null, last_id: null, has_more: false };
    expect((await api.get(pathOf('model=none'))).body).toEqual(empty);
  });

  it.each([
    ['limit=0', 'limit', 'integer_below_min_value'],
    ['limit=101', 'limit', 'integer_above_max_value'],
    ['limit=x', 'limit', 'invalid_type'],
    ['order=up', 'order', 'invalid_value'],
    ['after=@a&before=@b', 'before', 'mutually_exclusive_parameters'],
    ['session_id=', 'session_id', 'invalid_value'],
    ['session_id=two%20words', 'session_id', 'invalid_value'],
    ['session_id=a&session_id=b', 'session_id', 'invalid_type'],
    [`session_id=${'x'.repeat(257)}`, 'session_id', 'string_above_max_length'],
    ['model=', 'model', 'string_below_min_length'],
    ['model=a&model=b', 'model', 'invalid_type'],
    ['status=done', 'status', 'invalid_value'],
    ['status=', 'status', 'invalid_value'],
    ['metadata=x', 'metadata', 'invalid_type'],
    ['metadata[a]=x&metadata[a]=y', 'metadata.a', 'invalid_type'],
    [`metadata[${'k'.repeat(65)}]=x`, 'metadata', 'string_above_max_length'],
    [`metadata[a]=${'v'.repeat(513)}`, 'metadata.a', 'string_above_max_length'],
    [Array.from({ length: 17 }, (_, key) => `metadata[${key}]=x`).join('&'), 'metadata', 'object_above_max_properties'],
    ...['gte', 'gt', 'lt', 'lte'].flatMap((bound) => [
      [`created_at[${bound}]=x`, `created_at[${bound}]`, 'invalid_type'] as const,
      [`created_at[${bound}]=1.5`, `created_at[${bound}]`, 'invalid_type'] as const,
      [`created_at[${bound}]=-1`, `created_at[${bound}]`, 'integer_below_min_value'] as const,
      [`created_at[${bound}]=8640000000001`, `created_at[${bound}]`, 'integer_above_max_value'] as const,
      [`created_at[${bound}]=1&created_at[${bound}]=2`, `created_at[${bound}]`, 'invalid_type'] as const,
    ]),
  ])('the list of all responses refuses ?%.60s', async (query, param, code) => {
    const { status, body } = await api.get(pathOf(query));
    expect(status).toBe(400);
    const message = expect.stringMatching(/^(?:Invalid|Mutually exclusive).+\.$/) as unknown;
    expect(body).toEqual({ error: { type: 'invalid_request_error', code, param, message } });
  });

  it.each(['after', 'before'])(
    'a response that the filters of the list leave out is no cursor (%s)',
    async (cursor) => {
      for (const filter of [
        'model=blue',
        'session_id=one',
        'status=failed',
        'metadata[team]=y',
        'created_at[gt]=1780272001',
      ]) {
        expect(await api.get(pathOf(`${filter}&${cursor}=@a`))).toMatchObject({
          status: 400,
          body: { error: { code: 'invalid_value', param: cursor } },
        });
      }
    },
  );
});
