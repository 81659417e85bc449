import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import { type ConversationStore, type StateBackend, UnknownCursorError } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { createConversation, idsOf, listedIn, openConversation, partsIn, seenIn, turnIn } from '../conversations.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, message, purge, START } from '../records.js';
import { endingOf, launch } from '../runs.js';
import type { TestedState } from '../tested-state.js';

const RECORD = { id: 'c', createdAt: START / 1000, metadata: { kind: 'secret' } };
const PAGE = { limit: 10, order: 'asc' } as const;

/** What clients and turns find in a conversation. */
export const CONVERSATIONS = part('conversations', 'conversations', ({ share, it, describe, beforeEach }) => {
  let opened: TestedState;
  let backend: StateBackend;
  let store: ConversationStore;
  let tenant: Tenant;

  share((state, newcomer) => {
    [opened, tenant] = [state, newcomer];
    ({ backend } = opened);
    store = backend.conversations;
  });

  const create = (...itemIds: readonly string[]): Promise<void> => createConversation(backend, tenant, 'c', ...itemIds);
  const add = (...itemIds: readonly string[]): Promise<unknown> =>
    store.append(
      tenant,
      'c',
      itemIds.map((id) => message(id)),
    );

  it('conversations are what was created, and have the metadata that was given last', async () => {
    await create();
    requireAlike(await store.get(tenant, 'c'), RECORD);
    requireAlike(await store.update(tenant, 'c', { a: '\0 b' }), { ...RECORD, metadata: { a: '\0 b' } });
    requireAlike(await store.get(tenant, 'c'), { ...RECORD, metadata: { a: '\0 b' } });
  });

  it('conversations have items in the order in which they came, whole', async () => {
    await create('a', 'b');
    assert.equal(await add('c', 'd'), undefined);
    requireAlike(await store.items(tenant, 'c', PAGE), {
      data: ['a', 'b', 'c', 'd'].map((id) => message(id)),
      hasMore: false,
    });
    requireAlike(await store.item(tenant, 'c', 'c'), message('c'));
    requireAlike(
      (await store.read(tenant, 'c'))?.items,
      ['a', 'b', 'c', 'd'].map((id) => message(id)),
    );
  });

  it('conversations have ids of any kind', async () => {
    const ids = ['\0', 'x'.repeat(3000), '\uD800', ' lead'];
    await create(...ids);
    requireAlike(await listedIn(store, tenant, 'c', { limit: 1 }), ids);
    for (const id of ids) {
      requireAlike(await store.item(tenant, 'c', id), message(id));
      requireAlike(await add('new', id), { refused: 'duplicate_item', itemId: id });
      requireAlike(await store.deleteItem(tenant, 'c', id), RECORD);
    }
    requireAlike(await seenIn(backend, tenant, 'c'), []);
  });

  it('conversations are created once, also when it is said twice', async () => {
    await create('a');
    await create('b');
    requireAlike(await seenIn(backend, tenant, 'c'), ['a']);
  });

  it('conversations are listed page by page, in both orders and from any item', async () => {
    await create('a', 'b', 'c', 'd', 'e');
    for (const limit of [1, 2, 3, 5, 6]) {
      requireAlike(await listedIn(store, tenant, 'c', { limit }), ['a', 'b', 'c', 'd', 'e']);
      requireAlike(await listedIn(store, tenant, 'c', { limit, order: 'desc' }), ['e', 'd', 'c', 'b', 'a']);
    }
    const before = await store.items(tenant, 'c', { limit: 2, order: 'asc', before: 'd' });
    requireAlike([before?.data.map(({ id }) => id), before?.hasMore], [['b', 'c'], true]);
    const none = await store.items(tenant, 'c', { ...PAGE, after: 'e' });
    requireAlike(none, { data: [], hasMore: false });
    await assert.rejects(store.items(tenant, 'c', { ...PAGE, after: 'z' }), UnknownCursorError);
    await assert.rejects(store.items(tenant, 'c', { ...PAGE, before: 'z' }), UnknownCursorError);
  });

  it('conversations are listed in pages of bounded bytes', async () => {
    const items = ['a', 'b', 'c'].map((id) => message(id, 'x'.repeat(9 * 1024 * 1024)));
    await store.create(tenant, RECORD, items);
    const page = await store.items(tenant, 'c', PAGE);
    requireAlike([page?.data.map(({ id }) => id), page?.hasMore], [['a'], true]);
    requireAlike(await listedIn(store, tenant, 'c'), ['a', 'b', 'c']);
  });

  it('conversations take no item twice', async () => {
    await create('a', 'b');
    requireAlike(await add('c', 'b', 'a'), { refused: 'duplicate_item', itemId: 'b' });
    requireAlike(await seenIn(backend, tenant, 'c'), ['a', 'b']);
    await store.deleteItem(tenant, 'c', 'b');
    assert.equal(await add('b'), undefined);
    requireAlike(await listedIn(store, tenant, 'c'), ['a', 'b']);
  });

  it('a conversation loses an item, and keeps the order of the others', async () => {
    await create('a', 'b', 'c');
    requireAlike(await store.deleteItem(tenant, 'c', 'b'), RECORD);
    requireAlike(await store.deleteItem(tenant, 'c', 'b'), { refused: 'item_not_found' });
    await add('d');
    requireAlike(await listedIn(store, tenant, 'c', { limit: 2 }), ['a', 'c', 'd']);
  });

  it('conversations are not found before they are created and after they are deleted', async () => {
    const expectNothing = async (): Promise<void> => {
      assert.equal(await store.get(tenant, 'c'), undefined);
      assert.equal(await store.update(tenant, 'c', {}), undefined);
      assert.equal(await store.delete(tenant, 'c'), false);
      requireAlike(await store.open(tenant, 'c', { ttlMs: 1000 }), { refused: 'not_found' });
      assert.equal(await store.read(tenant, 'c'), undefined);
      requireAlike(await add('x'), { refused: 'not_found' });
      assert.equal(await store.items(tenant, 'c', PAGE), undefined);
      requireAlike(await store.item(tenant, 'c', 'a'), { refused: 'not_found' });
      requireAlike(await store.deleteItem(tenant, 'c', 'a'), { refused: 'not_found' });
      requireAlike(await backend.responses.items(tenant, ['a']), new Map());
    };
    await expectNothing();
    await create('a');
    assert.equal(await store.delete(tenant, 'c'), true);
    await expectNothing();
  });

  it('conversations have a version that every change of the items changes, and nothing else', async () => {
    await create('a');
    const versions: (number | undefined)[] = [];
    const changes = [
      () => add('b'),
      () => store.deleteItem(tenant, 'c', 'a'),
      () => turnIn(backend, tenant, 'c', 'r'),
      () => add('d'),
    ];
    for (const change of changes) {
      const before = await store.read(tenant, 'c');
      await store.update(tenant, 'c', { now: 'changed' });
      await add(String(before?.items?.[0]?.id));
      await store.deleteItem(tenant, 'c', 'nothing');
      requireAlike(await store.read(tenant, 'c'), before);
      versions.push(before?.version);
      await change();
    }
    versions.push((await store.read(tenant, 'c'))?.version);
    assert.equal(new Set(versions).size, versions.length);
  });

  it('conversations have the input, the output and the given items of a turn, one version later', async () => {
    await create('a');
    const lease = await openConversation(backend, tenant, 'c');
    const given = [{ after: 0, items: [message('given')] }];
    await append(backend.responses, tenant, 'r', { ...partsIn('c', lease), given });
    await lease.release();
    const context = await store.read(tenant, 'c');
    requireAlike(idsOf(context), ['a', 'r-in', 'given', 'r-out']);
    assert.equal(context?.version, lease.version + 1);
    requireAlike(await listedIn(store, tenant, 'c', { limit: 1 }), ['a', 'r-in', 'r-out']);
    requireAlike(await store.item(tenant, 'c', 'given'), { refused: 'item_not_found' });
    requireAlike(await store.deleteItem(tenant, 'c', 'given'), { refused: 'item_not_found' });
    requireAlike(await add('given'), { refused: 'duplicate_item', itemId: 'given' });
  });

  it('conversations have the turn of a background response from its end on', async () => {
    await create('a');
    const input = [message('q1'), message('q2')];
    const run = await launch(backend, tenant, 'bg', { input, conversationId: 'c' });
    const lease = await openConversation(backend, tenant, 'c');
    requireAlike(await seenIn(backend, tenant, 'c'), ['a']);
    const given = [{ after: 1, items: [message('given')] }];
    await backend.runs.finish(run, endingOf('bg', { ...partsIn('c', lease), at: 3, given }));
    await lease.release();
    const context = await store.read(tenant, 'c');
    requireAlike([idsOf(context), context?.version], [['a', 'q1', 'q2', 'bg-out', 'given'], lease.version + 1]);
    requireAlike(await contextOf(backend.responses, tenant, 'bg'), ['a', 'q1', 'q2', 'bg-out', 'given']);
    await turnIn(backend, tenant, 'c', 'next');
    requireAlike(await contextOf(backend.responses, tenant, 'bg'), ['a', 'q1', 'q2', 'bg-out', 'given']);
    requireAlike(await listedIn(store, tenant, 'c'), ['a', 'q1', 'q2', 'bg-out', ...contextFrom('next')]);
  });

  it('a conversation keeps an item that a model used twice', async () => {
    await create('a');
    await turnIn(backend, tenant, 'c', 'r1', { output: [message('same', 'one')] });
    await turnIn(backend, tenant, 'c', 'r2', { output: [message('same', 'two')] });
    requireAlike(await seenIn(backend, tenant, 'c'), ['a', 'r1-in', 'same', 'r2-in', 'same']);
    requireAlike(await store.item(tenant, 'c', 'same'), message('same', 'two'));
    await store.deleteItem(tenant, 'c', 'same');
    requireAlike(await seenIn(backend, tenant, 'c'), ['a', 'r1-in', 'r2-in']);
  });

  it('a conversation has no items for a client that knows the version', async () => {
    await create('a');
    const first = await openConversation(backend, tenant, 'c');
    await first.release();
    const again = await openConversation(backend, tenant, 'c', first.version);
    requireAlike([again.version, again.items], [first.version, null]);
    await again.release();
    await add('b');
    const changed = await openConversation(backend, tenant, 'c', first.version);
    requireAlike(idsOf(changed), ['a', 'b']);
    await changed.release();
  });

  it('conversations do not expire with their responses', async () => {
    await create('a');
    await turnIn(backend, tenant, 'c', 'r', { expiresAt: opened.clock.now() + 1000 });
    opened.clock.advance(1000);
    await purge(backend.responses);
    assert.equal(await backend.responses.get(tenant, 'r'), undefined);
    requireAlike(await seenIn(backend, tenant, 'c'), ['a', ...contextFrom('r')]);
    requireAlike([...(await backend.responses.items(tenant, ['r-out'])).keys()], ['r-out']);
  });

  describe('are the context of their responses', () => {
    beforeEach(async () => {
      await create('a', 'b');
      await turnIn(backend, tenant, 'c', 'r1');
      await add('later');
      await turnIn(backend, tenant, 'c', 'r2');
    });
    const chain = (id: string): Promise<unknown> => contextOf(backend.responses, tenant, id);

    it('conversations are the context of their responses as they were before the turn', async () => {
      requireAlike(await chain('r1'), ['a', 'b', ...contextFrom('r1')]);
      requireAlike(await chain('r2'), ['a', 'b', ...contextFrom('r1'), 'later', ...contextFrom('r2')]);
    });

    it('a conversation is also the context of what continues their responses', async () => {
      await append(backend.responses, tenant, 'branch', { parentId: 'r1' });
      requireAlike(await chain('branch'), ['a', 'b', ...contextFrom('r1', 'branch')]);
      await launch(backend, tenant, 'bg', { parentId: 'branch' });
      const started = await backend.runs.start({ tenant, responseId: 'bg', attempt: 2 });
      requireAlike(
        started?.context.map(({ id }) => id),
        ['a', 'b', ...contextFrom('r1', 'branch')],
      );
      await backend.responses.delete(tenant, 'r1', { cascade: false });
      requireAlike(await chain('branch'), ['a', 'b', ...contextFrom('r1', 'branch')]);
    });

    it('the context of a response is without what was deleted from its conversation since', async () => {
      await store.deleteItem(tenant, 'c', 'a');
      await store.deleteItem(tenant, 'c', 'r1-out');
      requireAlike(await chain('r2'), ['b', 'r1-in', 'later', ...contextFrom('r2')]);
      // A response keeps its output although the item was deleted from the conversation.
      requireAlike(await chain('r1'), ['b', ...contextFrom('r1')]);
    });

    it('deleted conversations are still the context of their responses, and are freed with the last of them', async () => {
      await append(backend.responses, tenant, 'branch', { parentId: 'r1' });
      const kept = await opened.content();
      assert.equal(await store.delete(tenant, 'c'), true);
      await purge(backend.responses);
      assert.equal(await opened.content(), kept);
      requireAlike(await chain('r2'), ['a', 'b', ...contextFrom('r1'), 'later', ...contextFrom('r2')]);
      for (const id of ['r2', 'r1']) await backend.responses.delete(tenant, id, { cascade: false });
      requireAlike(await chain('branch'), ['a', 'b', ...contextFrom('r1', 'branch')]);
      await backend.responses.delete(tenant, 'branch', { cascade: false });
    });
  });

  it('conversations are found by the ids of items that were added, outside of sessions', async () => {
    const { responses } = backend;
    await create('a', 'b');
    await add('c');
    await turnIn(backend, tenant, 'c', 'r', {
      sessionId: 'session',
      given: [{ after: 0, items: [message('given')] }],
    });
    const ids = ['a', 'c', 'r-in', 'given', 'nothing'];
    requireAlike(await responses.items(tenant, ids), new Map(['a', 'c', 'r-in'].map((id) => [id, message(id)])));
    requireAlike([...(await responses.items(tenant, ids, 'session')).keys()], ['r-in']);
    await store.deleteItem(tenant, 'c', 'a');
    await createConversation(backend, tenant, 'other', 'c');
    await store.delete(tenant, 'c');
    requireAlike([...(await responses.items(tenant, ids)).keys()].sort(), ['c', 'r-in']);
  });
});
