import { beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { ONE_STATE, startServiceIn } from '../support/state-backends.js';

const MEGABYTE = 1024 * 1024;
type Entries = readonly { readonly id: string }[];

describe.each(ONE_STATE)('large responses in $state', ({ open }) => {
  const service = useService(() =>
    startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { BODY_LIMIT_BYTES: 16 * MEGABYTE },
    }),
  );
  /** A root and three children of which no two fit on a page. */
  let ids: readonly string[];

  beforeAll(async () => {
    const root = (await service.api.create({})).id;
    const instructions = 'x'.repeat(9 * MEGABYTE);
    const made = [root];
    for (let child = 0; child < 3; child += 1) {
      // Tokens that the model has counted need not be counted here.
      service.app.get(ScriptedProvider).reply({ type: 'usage', input: 1, output: 1 });
      made.push((await service.api.create({ instructions, previous_response_id: root })).id);
    }
    ids = made;
  });

  const lettersOf = (entries: unknown): string =>
    (entries as Entries).map(({ id }) => 'abcd'[ids.indexOf(id)]).join('');

  it.each([
    ['responses/<root>/children', 'desc', ['d', 'c', 'b']],
    ['responses/<root>/leaves', 'asc', ['b', 'c', 'd']],
    ['sessions/<root>/responses?limit=2', 'desc', ['d', 'c', 'ba']],
  ])('large responses end pages early, and none is lost: %s', async (path, order, expected) => {
    const pages: string[] = [];
    const query = `${path.replace('<root>', ids[0] ?? '')}${path.includes('?') ? '&' : '?'}order=${order}`;
    let after = '';
    for (let more = true; more;) {
      const { body } = await service.api.get(query + after);
      pages.push(lettersOf(body['data']));
      after = `&after=${String(body['last_id'])}`;
      more = body['has_more'] as boolean;
    }
    expect(pages.join('')).toBe(expected.join(''));
    expect(pages.slice(0, 2)).toEqual(expected.slice(0, 2));
  });

  it('large responses fill the page in front of a cursor from its end', async () => {
    const { body } = await service.api.get(`responses?order=asc&before=${ids[3] ?? ''}`);
    expect(lettersOf(body['data'])).toBe('c');
    expect(body['has_more']).toBe(true);
  });

  it('large responses cut a tree short', async () => {
    const { body } = await service.api.get(`responses/${ids[3] ?? ''}/tree`);
    const { children } = body['root'] as { readonly children: { readonly data: Entries } };
    expect('bcd'.startsWith(lettersOf(children.data))).toBe(true);
    expect(children).toMatchObject({ has_more: true });
  });
});
