import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { type Page, type PageRequest, type ResponseGraph, UnknownCursorError } from '../../src/state/index.js';
import type { ResponseObject } from '../../src/protocol/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { append, newTenant, START } from './records.js';

type List = (graph: ResponseGraph, page: PageRequest) => Promise<Page<ResponseObject> | undefined>;

const tenant = newTenant();

/** Each list with its ids in order, and what looks like a cursor of it but is none. */
const LISTS: readonly {
  readonly name: string;
  readonly list: List;
  readonly ids: readonly string[];
  readonly others: readonly string[];
}[] = [
  { name: 'all', list: (graph, page) => graph.list(tenant, {}, page), ids: ['r', 'a', 'b', 'c', 'd', 'x'], others: [] },
  {
    name: 'a session',
    list: (graph, page) => graph.list(tenant, { sessionId: 's' }, page),
    ids: ['r', 'a', 'b', 'c', 'd'],
    others: ['x'],
  },
  {
    name: 'a model',
    list: (graph, page) => graph.list(tenant, { model: 'm' }, page),
    ids: ['a', 'c'],
    others: ['r', 'b', 'd', 'x'],
  },
  {
    name: 'children',
    list: (graph, page) => graph.children(tenant, 'r', page),
    ids: ['a', 'b', 'c'],
    others: ['r', 'd', 'x'],
  },
  {
    name: 'siblings',
    list: (graph, page) => graph.siblings(tenant, 'b', page),
    ids: ['a', 'c'],
    others: ['r', 'b', 'd', 'x'],
  },
  {
    name: 'leaves',
    list: (graph, page) => graph.leaves(tenant, 'r', page),
    ids: ['b', 'c', 'd'],
    others: ['r', 'a', 'x'],
  },
];

describe.each(BACKENDS)('cursors in $name', ({ open }) => {
  let opened: OpenedBackend;

  /**
   * Session `s` is `r` with the children `a`, `b` and `c`, and `d`, which continues `a`; `x` is by itself. Further children of
   * `r` are deleted, or have expired.
   */
  beforeAll(async () => {
    opened = await open();
    const store = opened.backend.responses;
    const save = (id: string, second: number, parentId: string | null, model: string, ttlMs = 60_000) => {
      const times = { createdAt: START / 1000 + second, expiresAt: START + ttlMs };
      return append(store, tenant, id, { parentId, sessionId: id === 'x' ? 'x' : 's', model, ...times });
    };
    await save('r', 0, null, 'n');
    await save('a', 1, 'r', 'm');
    await save('b', 2, 'r', 'n');
    await save('c', 3, 'r', 'm');
    await save('d', 4, 'a', 'n');
    await save('x', 5, null, 'n');
    await save('deleted', 6, 'r', 'm');
    await save('expired', 7, 'r', 'm', 1);
    await append(store, newTenant(), 'foreign');
    await store.delete(tenant, 'deleted', { cascade: false });
    opened.clock.advance(1);
  });
  afterAll(() => opened.close());

  describe.each(LISTS)('of $name', ({ list, ids, others }) => {
    const shown = async (page: Partial<PageRequest>): Promise<unknown> => {
      const found = await list(opened.backend.graph, { limit: 2, order: 'asc', ...page });
      return [found?.data.map(({ id }) => id), found?.hasMore];
    };

    it.each(ids.map((id, index) => [id, index] as const))('begin a page behind %s', async (id, index) => {
      const newer = ids.slice(index + 1);
      const older = ids.slice(0, index).reverse();
      expect(await shown({ after: id })).toEqual([newer.slice(0, 2), newer.length > 2]);
      expect(await shown({ after: id, order: 'desc' })).toEqual([older.slice(0, 2), older.length > 2]);
    });

    it.each(ids.map((id, index) => [id, index] as const))('end a page in front of %s', async (id, index) => {
      const older = ids.slice(0, index);
      const newer = ids.slice(index + 1).reverse();
      expect(await shown({ before: id })).toEqual([older.slice(-2), older.length > 2]);
      expect(await shown({ before: id, order: 'desc' })).toEqual([newer.slice(-2), newer.length > 2]);
    });

    it('are none of another list', async () => {
      const strangers = ['nowhere', '', 'foreign', 'a-in', 's'];
      for (const id of [...others, ...strangers]) {
        await expect(shown({ after: id })).rejects.toBeInstanceOf(UnknownCursorError);
        await expect(shown({ before: id, order: 'desc' })).rejects.toBeInstanceOf(UnknownCursorError);
      }
    });
  });

  it('do not matter where the response is not there', async () => {
    const { graph } = opened.backend;
    const page = { limit: 1, order: 'asc', after: 'nowhere' } as const;
    for (const id of ['nothing', 'deleted', 'expired', 'foreign']) {
      expect(await graph.children(tenant, id, page)).toBeUndefined();
      expect(await graph.siblings(tenant, id, page)).toBeUndefined();
      expect(await graph.leaves(tenant, id, page)).toBeUndefined();
    }
  });
});
