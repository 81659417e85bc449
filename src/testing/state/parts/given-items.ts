import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type { ResponseStore } from '../../../state/index.js';
import { requireAlike, requireMatch, requireRejection } from '../assertions.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, message, purge, type RecordParts, recordOf } from '../records.js';
import type { TestedState } from '../tested-state.js';

const PAGE = { limit: 100, order: 'asc' } as const;

/** Three passes: the model wrote twice, was given something, wrote once more, and was given something twice. */
const PASSES: RecordParts = {
  output: ['out-1', 'out-2', 'out-3'].map((id) => message(id)),
  given: [
    { after: 2, items: [message('given-1'), message('given-2')] },
    { after: 3, items: [message('given-3')] },
    { after: 3, items: [message('given-4')] },
  ],
};
const GIVEN = ['given-1', 'given-2', 'given-3', 'given-4'];
const CONVERSATION = ['a-in', 'out-1', 'out-2', 'given-1', 'given-2', 'out-3', 'given-3', 'given-4'];

/** Items that a turn was given between its outputs are part of its context. */
export const GIVEN_ITEMS = part('responses', 'items that a turn was given', ({ share, it }) => {
  let tenant: Tenant;
  /** The content of the backend before the case: data of other cases. */
  let others: number;
  let opened: TestedState;
  let store: ResponseStore;

  share(async (state, newcomer) => {
    [opened, store, tenant] = [state, state.backend.responses, newcomer];
    others = await opened.content();
  });

  const remove = (id: string): Promise<number> => store.delete(tenant, id, { cascade: false });

  it('items that a turn was given are in the conversation between the outputs', async () => {
    const { input, given, response } = await append(store, tenant, 'a', PASSES);
    const [first, ...others] = given.map(({ items }) => items);
    const output = response.output;
    requireAlike((await store.chain(tenant, 'a'))?.items, [
      ...[...input, ...output.slice(0, 2)],
      ...[...(first ?? []), ...output.slice(2), ...others.flat()],
    ]);
    requireAlike(await contextOf(store, tenant, 'a'), CONVERSATION);
  });

  for (const [after, expected] of [
    [0, ['b-in', 'given', 'out-1', 'out-2']],
    [1, ['b-in', 'out-1', 'given', 'out-2']],
    [2, ['b-in', 'out-1', 'out-2', 'given']],
    [9, ['b-in', 'out-1', 'out-2', 'given']],
  ] as const) {
    it(`items that a turn was given come after as many outputs as they say: ${after}`, async () => {
      const output = ['out-1', 'out-2'].map((id) => message(id));
      await append(store, tenant, 'b', { output, given: [{ after, items: [message('given')] }] });
      requireAlike(await contextOf(store, tenant, 'b'), expected);
    });
  }

  it('items that a turn was given are there where nothing else is', async () => {
    await append(store, tenant, 'b', { input: [], output: [], given: [{ after: 0, items: [message('given')] }] });
    requireAlike(await contextOf(store, tenant, 'b'), ['given']);
  });

  it('items that a turn was given are seen by what continues the response', async () => {
    await append(store, tenant, 'root');
    await append(store, tenant, 'a', { parentId: 'root', ...PASSES });
    await append(store, tenant, 'child', { parentId: 'a' });
    requireAlike(await contextOf(store, tenant, 'child'), [
      ...contextFrom('root'),
      ...CONVERSATION,
      ...contextFrom('child'),
    ]);
  });

  it('items that a turn was given are not shown with the response', async () => {
    const { input, response } = await append(store, tenant, 'a', PASSES);
    const { graph } = opened.backend;
    requireAlike(await store.get(tenant, 'a'), response);
    requireAlike(await store.inputItems(tenant, 'a', PAGE), { data: input, hasMore: false });
    requireAlike([...(await store.items(tenant, [...CONVERSATION])).keys()].sort(), [
      'a-in',
      'out-1',
      'out-2',
      'out-3',
    ]);
    requireAlike(await graph.list(tenant, {}, PAGE), { data: [response], hasMore: false });
    requireMatch(await graph.tree(tenant, 'a', { depth: 1, limit: 1 }), { response });
    await requireRejection(store.inputItems(tenant, 'a', { ...PAGE, after: 'given-1' }), 'no such cursor');
  });

  it('items that a turn was given are found by their id where another response shows them', async () => {
    await append(store, tenant, 'a', { input: [message('given-1', 'shown')] });
    await append(store, tenant, 'b', { ...PASSES, input: [message('b-in')] });
    requireAlike(await store.items(tenant, GIVEN), new Map([['given-1', message('given-1', 'shown')]]));
    await remove('a');
    requireAlike(await store.items(tenant, GIVEN), new Map());
  });

  it('items that a turn was given are left to descendants when the response is deleted, and freed with the last of them', async () => {
    await append(store, tenant, 'a', PASSES);
    await append(store, tenant, 'child', { parentId: 'a' });
    await remove('a');
    requireAlike(await contextOf(store, tenant, 'child'), [...CONVERSATION, ...contextFrom('child')]);
    await remove('child');
    assert.equal(await opened.content(), others);
  });

  it('items that a turn was given are passed on to a child that is saved when the response is gone', async () => {
    await append(store, tenant, 'a', PASSES);
    const inherited = (await store.chain(tenant, 'a'))?.items ?? [];
    await remove('a');
    const given = [{ after: 0, items: [message('given-to-child')] }];
    await store.save(tenant, recordOf('child', { parentId: 'a', inherited, given }));
    requireAlike(await contextOf(store, tenant, 'child'), [
      ...[...CONVERSATION, 'child-in'],
      ...['given-to-child', 'child-out'],
    ]);
    requireAlike(await store.items(tenant, [...GIVEN, 'given-to-child']), new Map());
  });

  it('items that a turn was given are purged with the response', async () => {
    await append(store, tenant, 'a', { ...PASSES, expiresAt: opened.clock.now() + 1000 });
    opened.clock.advance(1000);
    await purge(store);
    assert.equal(await opened.content(), others);
  });
});
