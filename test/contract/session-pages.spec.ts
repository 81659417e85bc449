import { beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

describe.each(STATES)('the responses of a session in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  /** Seven responses, oldest first: `a` to `g`. */
  let ids: readonly string[];

  beforeAll(async () => {
    const inSession = service.api.with({ 'x-session-id': 'seven' });
    const made: string[] = [];
    for (const letter of 'abcdefg') {
      made.push((await inSession.create({ input: letter })).id);
      // What belongs elsewhere has no place in between.
      await service.api.create({});
    }
    ids = made;
  });

  const idOf = (letter: string): string => ids['abcdefg'.indexOf(letter)] ?? letter;
  const letterOf = (id: string): string => 'abcdefg'[ids.indexOf(id)] ?? id;
  /** A query in which `@a` stands for the id of `a`. */
  const pathOf = (query: string): string =>
    `sessions/seven/responses?${query.replaceAll(/@(\w)/g, (_, letter: string) => idOf(letter))}`;

  it.each([
    ['', 'gfedcba', false],
    ['order=asc', 'abcdefg', false],
    ['order=desc&limit=3', 'gfe', true],
    ['order=asc&limit=3', 'abc', true],
    ['limit=7', 'gfedcba', false],
    ['limit=6', 'gfedcb', true],
    ['limit=1', 'g', true],
    ['limit=100', 'gfedcba', false],
    ['after=@d', 'cba', false],
    ['after=@d&limit=2', 'cb', true],
    ['after=@d&limit=3', 'cba', false],
    ['after=@d&order=asc', 'efg', false],
    ['after=@d&order=asc&limit=1', 'e', true],
    ['after=@a', '', false],
    ['after=@g&order=asc', '', false],
    ['before=@d', 'gfe', false],
    ['before=@d&limit=2', 'fe', true],
    ['before=@d&limit=3', 'gfe', false],
    ['before=@d&order=asc', 'abc', false],
    ['before=@d&order=asc&limit=2', 'bc', true],
    ['before=@g', '', false],
    ['before=@a&order=asc', '', false],
    ['unknown=x', 'gfedcba', false],
  ])('the responses of a session are paged: ?%s', async (query, expected, hasMore) => {
    const { status, body } = await service.api.get(pathOf(query));
    expect(status).toBe(200);
    const { data, ...envelope } = body as { readonly data: readonly { readonly id: string }[] };
    expect(data.map(({ id }) => letterOf(id)).join('')).toBe(expected);
    expect(envelope).toEqual({
      object: 'list',
      first_id: data.at(0)?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: hasMore,
    });
  });

  it.each(['asc', 'desc'])(
    'the responses of a session are all there once, page by page, to either side (%s)',
    async (order) => {
      const inOrder = order === 'asc' ? 'abcdefg' : 'gfedcba';
      for (const limit of [1, 2, 3, 7]) {
        for (const cursor of ['after', 'before']) {
          const pages: string[] = [];
          let next = cursor === 'after' ? '' : `&before=${idOf(inOrder.at(-1) ?? '')}`;
          for (let more = true; more;) {
            const { body } = await service.api.get(pathOf(`order=${order}&limit=${limit}${next}`));
            const data = body['data'] as readonly { readonly id: string }[];
            pages.push(data.map(({ id }) => letterOf(id)).join(''));
            next = `&${cursor}=${String(body[cursor === 'after' ? 'last_id' : 'first_id'])}`;
            more = body['has_more'] as boolean;
          }
          const seen = cursor === 'after' ? pages.join('') : pages.reverse().join('') + (inOrder.at(-1) ?? '');
          expect({ cursor, limit, seen }).toEqual({ cursor, limit, seen: inOrder });
        }
      }
    },
  );

  it('the responses of a session are shown as they are when they are retrieved', async () => {
    const { body } = await service.api.get(pathOf('limit=1'));
    expect((body['data'] as unknown[])[0]).toEqual((await service.api.get(`responses/${idOf('g')}`)).body);
  });

  it.each([
    ['limit=0', 'limit', 'integer_below_min_value'],
    ['limit=-1', 'limit', 'integer_below_min_value'],
    ['limit=101', 'limit', 'integer_above_max_value'],
    ['limit=x', 'limit', 'invalid_type'],
    ['limit=', 'limit', 'invalid_type'],
    ['limit=1.5', 'limit', 'invalid_type'],
    ['limit=1&limit=2', 'limit', 'invalid_type'],
    ['order=up', 'order', 'invalid_value'],
    ['order=ASC', 'order', 'invalid_value'],
    ['after=', 'after', 'string_below_min_length'],
    ['before=', 'before', 'string_below_min_length'],
    ['after=@a&after=@b', 'after', 'invalid_type'],
    ['after=@a&before=@g', 'before', 'mutually_exclusive_parameters'],
    ['after=resp_unknown', 'after', 'invalid_value'],
    ['before=resp_unknown', 'before', 'invalid_value'],
    ['after=%00', 'after', 'invalid_value'],
    [`before=${'x'.repeat(10_000)}`, 'before', 'invalid_value'],
  ])('the responses of a session are refused: ?%s', async (query, param, code) => {
    const { status, body } = await service.api.get(pathOf(query));
    expect(status).toBe(400);
    expect(body).toEqual({
      error: {
        type: 'invalid_request_error',
        code,
        param,
        message: expect.stringMatching(new RegExp(`'(?:${param}|up|ASC)'`)) as unknown,
      },
    });
  });

  it.each(['after', 'before'])('the responses of a session are no cursor in another list (%s)', async (cursor) => {
    const elsewhere = await service.api.with({ 'x-session-id': 'elsewhere' }).create({});
    const { status, body } = await service.api.get(pathOf(`${cursor}=${elsewhere.id}`));
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: {
        param: cursor,
        message: `Invalid '${cursor}': there is nothing with id '${elsewhere.id}' in this list.`,
      },
    });
  });

  it('the responses of a session do not move while others are added', async () => {
    const inSession = service.api.with({ 'x-session-id': 'growing' });
    const first = [await inSession.create({}), await inSession.create({}), await inSession.create({})];
    const firstPage = await service.api.idsOf('sessions/growing/responses?limit=2');
    expect(firstPage).toEqual([first[2]?.id, first[1]?.id]);
    await inSession.create({});
    expect(await service.api.idsOf(`sessions/growing/responses?limit=2&after=${firstPage[1] ?? ''}`)).toEqual([
      first[0]?.id,
    ]);
  });

  it.each(['nobody', 'resp_0123456789abcdef0123456789abcdef', '%00', '%20', 'x'.repeat(5000), '%F0%9F%98%80'])(
    'an unknown session has no responses: %s',
    async (name) => {
      const { status, body } = await service.api.get(`sessions/${name}/responses`);
      expect(status).toBe(404);
      const message = expect.stringMatching(/^Session with id '.*(?:' not found\.|…)$/s) as unknown;
      expect(body).toEqual({ error: { type: 'invalid_request_error', code: null, param: null, message } });
    },
  );
});
