import assert from 'node:assert/strict';

import type { ResponseObject } from '../../../protocol/index.js';
import { type Page, type PageRequest, type ResponseGraph, UnknownCursorError } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { part } from '../part.js';
import { append, newTenant, START } from '../records.js';
import type { TestedState } from '../tested-state.js';

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

/** Pages begin and end at any entry of their list, and at nothing else. */
export const PAGE_CURSORS = part('graph', 'cursors', ({ openOnce, it, describe }) => {
  let opened: TestedState;

  /**
   * Session `s` is `r` with the children `a`, `b` and `c`, and `d`, which continues `a`; `x` is by itself. Further children of
   * `r` are deleted, or have expired.
   */
  openOnce(async (state) => {
    opened = state;
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

  for (const { name, list, ids, others } of LISTS) {
    describe(`of ${name}`, () => {
      const shown = async (page: Partial<PageRequest>): Promise<unknown> => {
        const found = await list(opened.backend.graph, { limit: 2, order: 'asc', ...page });
        return [found?.data.map(({ id }) => id), found?.hasMore];
      };

      for (const [id, index] of ids.map((id, index) => [id, index] as const)) {
        it(`cursors begin a page behind ${id}`, async () => {
          const newer = ids.slice(index + 1);
          const older = ids.slice(0, index).reverse();
          requireAlike(await shown({ after: id }), [newer.slice(0, 2), newer.length > 2]);
          requireAlike(await shown({ after: id, order: 'desc' }), [older.slice(0, 2), older.length > 2]);
        });
      }

      for (const [id, index] of ids.map((id, index) => [id, index] as const)) {
        it(`cursors end a page in front of ${id}`, async () => {
          const older = ids.slice(0, index);
          const newer = ids.slice(index + 1).reverse();
          requireAlike(await shown({ before: id }), [older.slice(-2), older.length > 2]);
          requireAlike(await shown({ before: id, order: 'desc' }), [newer.slice(-2), newer.length > 2]);
        });
      }

      it('cursors are none of another list', async () => {
        const strangers = ['nowhere', '', 'foreign', 'a-in', 's'];
        for (const id of [...others, ...strangers]) {
          await assert.rejects(shown({ after: id }), UnknownCursorError);
          await assert.rejects(shown({ before: id, order: 'desc' }), UnknownCursorError);
        }
      });
    });
  }

  it('cursors do not matter where the response is not there', async () => {
    const { graph } = opened.backend;
    const page = { limit: 1, order: 'asc', after: 'nowhere' } as const;
    for (const id of ['nothing', 'deleted', 'expired', 'foreign']) {
      assert.equal(await graph.children(tenant, id, page), undefined);
      assert.equal(await graph.siblings(tenant, id, page), undefined);
      assert.equal(await graph.leaves(tenant, id, page), undefined);
    }
  });
});
