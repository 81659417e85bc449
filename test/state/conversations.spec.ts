import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { type ConversationStore, type StateBackend, UnknownCursorError } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { createConversation, idsOf, listedIn, openConversation, partsIn, seenIn, turnIn } from './conversations.js';
import { append, contextFrom, contextOf, message, newTenant, purge, START } from './records.js';
import { endingOf, launch } from './runs.js';

const RECORD = { id: 'c', createdAt: START / 1000, metadata: { kind: 'secret' } };
const PAGE = { limit: 10, order: 'asc' } as const;

describe.each(BACKENDS)('conversations in $name', ({ open }) => {
  let opened: OpenedBackend;
  let backend: StateBackend;
  let store: ConversationStore;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await open();
    backend = opened.backend;
    store = backend.conversations;
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  const create = (...itemIds: readonly string[]): Promise<void> => createConversation(backend, tenant, 'c', ...itemIds);
  const add = (...itemIds: readonly string[]): Promise<unknown> =>
    store.append(
      tenant,
      'c',
      itemIds.map((id) => message(id)),
    );

  it('are what was created, and have the metadata that was given last', async () => {
    await create();
    expect(await store.get(tenant, 'c')).toEqual(RECORD);
    expect(await store.update(tenant, 'c', { a: '\0 b' })).toEqual({ ...RECORD, metadata: { a: '\0 b' } });
    expect(await store.get(tenant, 'c')).toEqual({ ...RECORD, metadata: { a: '\0 b' } });
  });

  it('have items in the order in which they came, whole', async () => {
    await create('a', 'b');
    expect(await add('c', 'd')).toBeUndefined();
    expect(await store.items(tenant, 'c', PAGE)).toEqual({
      data: ['a', 'b', 'c', 'd'].map((id) => message(id)),
      hasMore: false,
    });
    expect(await store.item(tenant, 'c', 'c')).toEqual(message('c'));
    expect((await store.read(tenant, 'c'))?.items).toEqual(['a', 'b', 'c', 'd'].map((id) => message(id)));
  });

  it('have ids of any kind', async () => {
    const ids = ['\0', 'x'.repeat(3000), '\uD800', ' lead'];
    await create(...ids);
    expect(await listedIn(store, tenant, 'c', { limit: 1 })).toEqual(ids);
    for (const id of ids) {
      expect(await store.item(tenant, 'c', id)).toEqual(message(id));
      expect(await add('new', id)).toEqual({ refused: 'duplicate_item', itemId: id });
      expect(await store.deleteItem(tenant, 'c', id)).toEqual(RECORD);
    }
    expect(await seenIn(backend, tenant, 'c')).toEqual([]);
  });

  it('are created once, also when it is said twice', async () => {
    await create('a');
    await create('b');
    expect(await seenIn(backend, tenant, 'c')).toEqual(['a']);
  });

  it('are listed page by page, in both orders and from any item', async () => {
    await create('a', 'b', 'c', 'd', 'e');
    for (const limit of [1, 2, 3, 5, 6]) {
      expect(await listedIn(store, tenant, 'c', { limit })).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(await listedIn(store, tenant, 'c', { limit, order: 'desc' })).toEqual(['e', 'd', 'c', 'b', 'a']);
    }
    const before = await store.items(tenant, 'c', { limit: 2, order: 'asc', before: 'd' });
    expect([before?.data.map(({ id }) => id), before?.hasMore]).toEqual([['b', 'c'], true]);
    const none = await store.items(tenant, 'c', { ...PAGE, after: 'e' });
    expect(none).toEqual({ data: [], hasMore: false });
    await expect(store.items(tenant, 'c', { ...PAGE, after: 'z' })).rejects.toBeInstanceOf(UnknownCursorError);
    await expect(store.items(tenant, 'c', { ...PAGE, before: 'z' })).rejects.toBeInstanceOf(UnknownCursorError);
  });

  it('are listed in pages of bounded bytes', async () => {
    const items = ['a', 'b', 'c'].map((id) => message(id, 'x'.repeat(9 * 1024 * 1024)));
    await store.create(tenant, RECORD, items);
    const page = await store.items(tenant, 'c', PAGE);
    expect([page?.data.map(({ id }) => id), page?.hasMore]).toEqual([['a'], true]);
    expect(await listedIn(store, tenant, 'c')).toEqual(['a', 'b', 'c']);
  });

  it('take no item twice', async () => {
    await create('a', 'b');
    expect(await add('c', 'b', 'a')).toEqual({ refused: 'duplicate_item', itemId: 'b' });
    expect(await seenIn(backend, tenant, 'c')).toEqual(['a', 'b']);
    await store.deleteItem(tenant, 'c', 'b');
    expect(await add('b')).toBeUndefined();
    expect(await listedIn(store, tenant, 'c')).toEqual(['a', 'b']);
  });

  it('lose an item, and keep the order of the others', async () => {
    await create('a', 'b', 'c');
    expect(await store.deleteItem(tenant, 'c', 'b')).toEqual(RECORD);
    expect(await store.deleteItem(tenant, 'c', 'b')).toEqual({ refused: 'item_not_found' });
    await add('d');
    expect(await listedIn(store, tenant, 'c', { limit: 2 })).toEqual(['a', 'c', 'd']);
  });

  it('are not found before they are created and after they are deleted', async () => {
    const expectNothing = async (): Promise<void> => {
      expect(await store.get(tenant, 'c')).toBeUndefined();
      expect(await store.update(tenant, 'c', {})).toBeUndefined();
      expect(await store.delete(tenant, 'c')).toBe(false);
      expect(await store.open(tenant, 'c', { ttlMs: 1000 })).toEqual({ refused: 'not_found' });
      expect(await store.read(tenant, 'c')).toBeUndefined();
      expect(await add('x')).toEqual({ refused: 'not_found' });
      expect(await store.items(tenant, 'c', PAGE)).toBeUndefined();
      expect(await store.item(tenant, 'c', 'a')).toEqual({ refused: 'not_found' });
      expect(await store.deleteItem(tenant, 'c', 'a')).toEqual({ refused: 'not_found' });
      expect(await backend.responses.items(tenant, ['a'])).toEqual(new Map());
    };
    await expectNothing();
    await create('a');
    expect(await store.delete(tenant, 'c')).toBe(true);
    await expectNothing();
  });

  it('have a version that every change of the items changes, and nothing else', async () => {
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
      expect(await store.read(tenant, 'c')).toEqual(before);
      versions.push(before?.version);
      await change();
    }
    versions.push((await store.read(tenant, 'c'))?.version);
    expect(new Set(versions).size).toBe(versions.length);
  });

  it('have the input, the output and the given items of a turn, one version later', async () => {
    await create('a');
    const lease = await openConversation(backend, tenant, 'c');
    const given = [{ after: 0, items: [message('given')] }];
    await append(backend.responses, tenant, 'r', { ...partsIn('c', lease), given });
    await lease.release();
    const context = await store.read(tenant, 'c');
    expect(idsOf(context)).toEqual(['a', 'r-in', 'given', 'r-out']);
    expect(context?.version).toBe(lease.version + 1);
    expect(await listedIn(store, tenant, 'c', { limit: 1 })).toEqual(['a', 'r-in', 'r-out']);
    expect(await store.item(tenant, 'c', 'given')).toEqual({ refused: 'item_not_found' });
    expect(await store.deleteItem(tenant, 'c', 'given')).toEqual({ refused: 'item_not_found' });
    expect(await add('given')).toEqual({ refused: 'duplicate_item', itemId: 'given' });
  });

  it('have the turn of a background response from its end on', async () => {
    await create('a');
    const input = [message('q1'), message('q2')];
    const run = await launch(backend, tenant, 'bg', { input, conversationId: 'c' });
    const lease = await openConversation(backend, tenant, 'c');
    expect(await seenIn(backend, tenant, 'c')).toEqual(['a']);
    const given = [{ after: 1, items: [message('given')] }];
    await backend.responses.finish(run, endingOf('bg', { ...partsIn('c', lease), at: 3, given }));
    await lease.release();
    const context = await store.read(tenant, 'c');
    expect([idsOf(context), context?.version]).toEqual([['a', 'q1', 'q2', 'bg-out', 'given'], lease.version + 1]);
    expect(await contextOf(backend.responses, tenant, 'bg')).toEqual(['a', 'q1', 'q2', 'bg-out', 'given']);
    await turnIn(backend, tenant, 'c', 'next');
    expect(await contextOf(backend.responses, tenant, 'bg')).toEqual(['a', 'q1', 'q2', 'bg-out', 'given']);
    expect(await listedIn(store, tenant, 'c')).toEqual(['a', 'q1', 'q2', 'bg-out', ...contextFrom('next')]);
  });

  it('keep an item that a model used twice', async () => {
    await create('a');
    await turnIn(backend, tenant, 'c', 'r1', { output: [message('same', 'one')] });
    await turnIn(backend, tenant, 'c', 'r2', { output: [message('same', 'two')] });
    expect(await seenIn(backend, tenant, 'c')).toEqual(['a', 'r1-in', 'same', 'r2-in', 'same']);
    expect(await store.item(tenant, 'c', 'same')).toEqual(message('same', 'two'));
    await store.deleteItem(tenant, 'c', 'same');
    expect(await seenIn(backend, tenant, 'c')).toEqual(['a', 'r1-in', 'r2-in']);
  });

  it('have no items for a client that knows the version', async () => {
    await create('a');
    const first = await openConversation(backend, tenant, 'c');
    await first.release();
    const again = await openConversation(backend, tenant, 'c', first.version);
    expect([again.version, again.items]).toEqual([first.version, null]);
    await again.release();
    await add('b');
    const changed = await openConversation(backend, tenant, 'c', first.version);
    expect(idsOf(changed)).toEqual(['a', 'b']);
    await changed.release();
  });

  it('do not expire with their responses', async () => {
    await create('a');
    await turnIn(backend, tenant, 'c', 'r', { expiresAt: opened.clock.now() + 1000 });
    opened.clock.advance(1000);
    await purge(backend.responses);
    expect(await backend.responses.get(tenant, 'r')).toBeUndefined();
    expect(await seenIn(backend, tenant, 'c')).toEqual(['a', ...contextFrom('r')]);
    expect([...(await backend.responses.items(tenant, ['r-out'])).keys()]).toEqual(['r-out']);
  });

  describe('are the context of their responses', () => {
    beforeEach(async () => {
      await create('a', 'b');
      await turnIn(backend, tenant, 'c', 'r1');
      await add('later');
      await turnIn(backend, tenant, 'c', 'r2');
    });
    const chain = (id: string): Promise<unknown> => contextOf(backend.responses, tenant, id);

    it('as they were before the turn', async () => {
      expect(await chain('r1')).toEqual(['a', 'b', ...contextFrom('r1')]);
      expect(await chain('r2')).toEqual(['a', 'b', ...contextFrom('r1'), 'later', ...contextFrom('r2')]);
    });

    it('also of what continues these', async () => {
      await append(backend.responses, tenant, 'branch', { parentId: 'r1' });
      expect(await chain('branch')).toEqual(['a', 'b', ...contextFrom('r1', 'branch')]);
      await launch(backend, tenant, 'bg', { parentId: 'branch' });
      const started = await backend.responses.start({ tenant, responseId: 'bg', attempt: 2 });
      expect(started?.context.map(({ id }) => id)).toEqual(['a', 'b', ...contextFrom('r1', 'branch')]);
      await backend.responses.delete(tenant, 'r1', { cascade: false });
      expect(await chain('branch')).toEqual(['a', 'b', ...contextFrom('r1', 'branch')]);
    });

    it('without what was deleted since', async () => {
      await store.deleteItem(tenant, 'c', 'a');
      await store.deleteItem(tenant, 'c', 'r1-out');
      expect(await chain('r2')).toEqual(['b', 'r1-in', 'later', ...contextFrom('r2')]);
      // What a response has made stays its own.
      expect(await chain('r1')).toEqual(['b', ...contextFrom('r1')]);
    });

    it('also when they are deleted, and are freed with the last of them', async () => {
      await append(backend.responses, tenant, 'branch', { parentId: 'r1' });
      const kept = await opened.content();
      expect(await store.delete(tenant, 'c')).toBe(true);
      await purge(backend.responses);
      expect(await opened.content()).toBe(kept);
      expect(await chain('r2')).toEqual(['a', 'b', ...contextFrom('r1'), 'later', ...contextFrom('r2')]);
      for (const id of ['r2', 'r1']) await backend.responses.delete(tenant, id, { cascade: false });
      expect(await chain('branch')).toEqual(['a', 'b', ...contextFrom('r1', 'branch')]);
      await backend.responses.delete(tenant, 'branch', { cascade: false });
    });
  });

  it('are found by the ids of items that were added, outside of sessions', async () => {
    const { responses } = backend;
    await create('a', 'b');
    await add('c');
    await turnIn(backend, tenant, 'c', 'r', { sessionId: 'session', given: [{ after: 0, items: [message('given')] }] });
    const ids = ['a', 'c', 'r-in', 'given', 'nothing'];
    expect(await responses.items(tenant, ids)).toEqual(new Map(['a', 'c', 'r-in'].map((id) => [id, message(id)])));
    expect([...(await responses.items(tenant, ids, 'session')).keys()]).toEqual(['r-in']);
    await store.deleteItem(tenant, 'c', 'a');
    await createConversation(backend, tenant, 'other', 'c');
    await store.delete(tenant, 'c');
    expect([...(await responses.items(tenant, ids)).keys()].sort()).toEqual(['c', 'r-in']);
  });
});

describe.each(BACKENDS)('deleted conversations in $name', ({ open }) => {
  const tenant = newTenant();

  it('leave nothing behind', async () => {
    await using opened = await open();
    const { backend } = opened;
    await createConversation(backend, tenant, 'c', 'a', 'b');
    await backend.conversations.append(tenant, 'c', [message('d')]);
    await backend.conversations.deleteItem(tenant, 'c', 'b');
    await backend.conversations.update(tenant, 'c', { kind: 'x'.repeat(100) });
    await turnIn(backend, tenant, 'c', 'r1');
    const run = await launch(backend, tenant, 'bg', { conversationId: 'c' });
    const lease = await openConversation(backend, tenant, 'c');
    await backend.responses.finish(run, endingOf('bg', { ...partsIn('c', lease), at: 3 }));
    await append(backend.responses, tenant, 'child', { parentId: 'r1' });
    await backend.conversations.delete(tenant, 'c');
    for (const id of ['r1', 'bg', 'child']) await backend.responses.delete(tenant, id, { cascade: false });
    await purge(backend.responses);
    expect(await opened.content()).toBe(0);
  });

  it('leave nothing behind when their responses go first', async () => {
    await using opened = await open();
    const { backend } = opened;
    await createConversation(backend, tenant, 'c', 'a');
    await turnIn(backend, tenant, 'c', 'r1');
    await backend.responses.delete(tenant, 'r1', { cascade: false });
    expect(await seenIn(backend, tenant, 'c')).toEqual(['a', ...contextFrom('r1')]);
    await backend.conversations.delete(tenant, 'c');
    expect(await opened.content()).toBe(0);
  });
});
