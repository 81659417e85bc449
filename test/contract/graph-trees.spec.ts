import { beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

/** Each letter with what it continues, oldest first. */
const PARENTS = { a: null, b: 'a', c: 'a', d: 'b', e: 'b', f: 'd', g: 'c', h: 'a' } as const;
const LETTERS = Object.keys(PARENTS);

interface TreeNode {
  readonly id: string;
  readonly object: string;
  readonly response: Readonly<Record<string, unknown>>;
  readonly children: Readonly<Record<string, unknown>> & { readonly data: readonly TreeNode[] };
}

describe.each(STATES)('what hangs together in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  const ids = new Map<string, string>();

  beforeAll(async () => {
    for (const [letter, parent] of Object.entries(PARENTS)) {
      const previous_response_id = parent === null ? null : ids.get(parent);
      ids.set(letter, (await service.api.create({ input: letter, previous_response_id })).id);
    }
  });

  const idOf = (letter: string): string => ids.get(letter) ?? letter;
  const letterOf = (id: string): string => LETTERS.find((letter) => ids.get(letter) === id) ?? '?';
  const pathOf = (letter: string, route: string): string =>
    `responses/${idOf(letter)}/${route.replaceAll(/@(\w)/g, (_, other: string) => idOf(other))}`;
  const lettersOf = async (letter: string, route: string): Promise<string> =>
    (await service.api.idsOf(pathOf(letter, route))).map(letterOf).join('');

  /** A tree as `a(b(d)c)`, with a `+` where more was left out. */
  const draw = ({ id, children }: TreeNode): string => {
    const inside = children.data.map(draw).join('') + (children['has_more'] === true ? '+' : '');
    return letterOf(id) + (inside === '' ? '' : `(${inside})`);
  };
  const treeOf = async (letter: string, query = ''): Promise<TreeNode> => {
    const { status, body } = await service.api.get(pathOf(letter, `tree${query}`));
    expect({ status, object: body['object'], keys: Object.keys(body) }).toEqual({
      status: 200,
      object: 'response.tree',
      keys: ['object', 'root'],
    });
    return body['root'] as TreeNode;
  };

  it.each([
    ['a', 'children', 'hcb'],
    ['a', 'children?order=asc', 'bch'],
    ['b', 'children?order=asc', 'de'],
    ['f', 'children', ''],
    ['a', 'children?limit=2', 'hc'],
    ['a', 'children?limit=2&after=@c', 'b'],
    ['a', 'children?before=@b&limit=1', 'c'],
    ['a', 'siblings', ''],
    ['b', 'siblings', 'hc'],
    ['c', 'siblings?order=asc', 'bh'],
    ['d', 'siblings', 'e'],
    ['g', 'siblings', ''],
    ['b', 'siblings?order=asc&limit=1', 'c'],
    ['b', 'siblings?order=asc&after=@c', 'h'],
    ['a', 'leaves?order=asc', 'efgh'],
    ['a', 'leaves', 'hgfe'],
    ['b', 'leaves?order=asc', 'ef'],
    ['c', 'leaves', 'g'],
    ['f', 'leaves', 'f'],
    ['a', 'leaves?limit=1', 'h'],
    ['a', 'leaves?limit=2&after=@g', 'fe'],
    ['a', 'leaves?before=@e&order=desc&limit=2', 'gf'],
  ])('the relatives of %s are listed: %s', async (letter, route, expected) => {
    expect(await lettersOf(letter, route)).toBe(expected);
  });

  it.each(['children', 'siblings', 'leaves'])(
    'the route of relatives is a list like every other: %s',
    async (route) => {
      const { body } = await service.api.get(pathOf(route === 'siblings' ? 'b' : 'a', `${route}?limit=1`));
      const [first] = body['data'] as readonly { readonly id: string }[];
      expect(body).toEqual({ object: 'list', data: [first], first_id: first?.id, last_id: first?.id, has_more: true });
      expect(first).toEqual((await service.api.get(`responses/${first?.id ?? ''}`)).body);
      const { body: none } = await service.api.get(pathOf('f', route === 'leaves' ? `leaves?after=@f` : route));
      expect(none).toEqual({ object: 'list', data: [], first_id: null, last_id: null, has_more: false });
    },
  );

  it.each([
    ['', 'a(b(d(f)e)c(g)h)'],
    ['?depth=100&limit=1000', 'a(b(d(f)e)c(g)h)'],
    ['?depth=0', 'a(+)'],
    ['?depth=1', 'a(b(+)c(+)h)'],
    ['?depth=2', 'a(b(d(+)e)c(g)h)'],
    ['?depth=3', 'a(b(d(f)e)c(g)h)'],
    ['?limit=1', 'a(+)'],
    ['?limit=2', 'a(b(+)+)'],
    ['?limit=4', 'a(b(+)c(+)h)'],
    ['?limit=5', 'a(b(d(+)+)c(+)h)'],
    ['?limit=7', 'a(b(d(+)e)c(g)h)'],
    ['?limit=8', 'a(b(d(f)e)c(g)h)'],
    ['?depth=1&limit=3', 'a(b(+)c(+)+)'],
    ['?unknown=x', 'a(b(d(f)e)c(g)h)'],
  ])('the tree of a response is drawn: ?%s', async (query, expected) => {
    // From wherever one looks.
    for (const letter of LETTERS) expect(draw(await treeOf(letter, query))).toBe(expected);
  });

  it('the tree of a response has the responses as they are when they are retrieved', async () => {
    const root = await treeOf('f');
    const { body } = await service.api.get(`responses/${idOf('a')}`);
    expect(root).toMatchObject({ id: idOf('a'), object: 'response.tree_node', response: body });
    expect(Object.keys(root)).toEqual(['id', 'object', 'response', 'children']);
    const nodes = root.children.data;
    expect(root.children).toEqual({
      object: 'list',
      data: nodes,
      first_id: idOf('b'),
      last_id: idOf('h'),
      has_more: false,
    });
    const [leaf] = nodes[1]?.children.data ?? [];
    expect(leaf?.response).toEqual((await service.api.get(`responses/${idOf('g')}`)).body);
    expect(leaf?.children).toEqual({ object: 'list', data: [], first_id: null, last_id: null, has_more: false });
  });

  it.each([
    ['depth=-1', 'depth', 'integer_below_min_value'],
    ['depth=101', 'depth', 'integer_above_max_value'],
    ['depth=x', 'depth', 'invalid_type'],
    ['depth=1.5', 'depth', 'invalid_type'],
    ['depth=', 'depth', 'invalid_type'],
    ['depth=1&depth=2', 'depth', 'invalid_type'],
    ['limit=0', 'limit', 'integer_below_min_value'],
    ['limit=1001', 'limit', 'integer_above_max_value'],
    ['limit=all', 'limit', 'invalid_type'],
  ])('the tree of a response is refused with ?%s', async (query, param, code) => {
    expect(await service.api.get(pathOf('a', `tree?${query}`))).toMatchObject({
      status: 400,
      body: { error: { param, code } },
    });
  });

  it.each(['children', 'siblings', 'leaves'])('a page of relatives is refused with a bad query: %s', async (route) => {
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['limit=x', 'limit'],
      ['order=up', 'order'],
      ['after=', 'after'],
      ['after=@b&before=@c', 'before'],
      // In other lists, or in none.
      ['after=@a', 'after'],
      ['before=@b', 'before'],
      ['after=resp_unknown', 'after'],
      ['before=%00', 'before'],
    ] as const) {
      expect(await service.api.get(pathOf('b', `${route}?${query}`))).toMatchObject({
        status: 400,
        body: { error: { type: 'invalid_request_error', param } },
      });
    }
  });

  it.each(['children', 'siblings', 'leaves', 'tree'])(
    'the graph has nothing for a response that is not there: %s',
    async (route) => {
      const unstored = (await service.api.create({ store: false })).id;
      for (const id of [
        'resp_0123456789abcdef0123456789abcdef',
        'anything',
        '%00',
        'a%2Fb',
        '%F0%9F%98%80',
        unstored,
      ]) {
        const { status, body } = await service.api.get(`responses/${id}/${route}`);
        const message = `Response with id '${decodeURIComponent(id)}' not found.`;
        expect({ status, body }).toEqual({
          status: 404,
          body: { error: { type: 'invalid_request_error', code: null, param: null, message } },
        });
      }
    },
  );

  it('the graph goes down and up a long chain', async () => {
    const chain: string[] = [];
    for (let turn = 0; turn < 110; turn += 1) {
      chain.push((await service.api.create({ previous_response_id: chain.at(-1) ?? null })).id);
    }
    const last = chain.at(-1) ?? '';
    expect(await service.api.idsOf(`responses/${chain[0] ?? ''}/leaves`)).toEqual([last]);
    const found: string[] = [];
    const { body } = await service.api.get(`responses/${last}/tree?depth=100&limit=1000`);
    let node = body['root'] as TreeNode | undefined;
    for (; node !== undefined; [node] = node.children.data) {
      found.push(node.id);
      if (found.length === 101) expect(node.children).toMatchObject({ data: [], has_more: true });
    }
    expect(found).toEqual(chain.slice(0, 101));
  });
});
