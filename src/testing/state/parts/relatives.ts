import assert from 'node:assert/strict';

import type { TreeNode } from '../../../state/index.js';
import { part } from '../part.js';
import { append, newTenant } from '../records.js';
import type { TestedState } from '../tested-state.js';

/** A tree as text: `root(child(grandchild) child)`. */
function write({ response, children, hasMore }: TreeNode): string {
  const inner = [...children.map(write), ...(hasMore ? ['…'] : [])].join(' ');
  return inner === '' ? response.id : `${response.id}(${inner})`;
}

/** Trees of responses are cut where their bounds say. */
export const RELATIVES = part('graph', 'relatives', ({ openOnce, it, describe, beforeAll }) => {
  let opened: TestedState;

  openOnce((state) => (opened = state));

  describe('bounds of trees', () => {
    const tenant = newTenant();

    /** Ids tell the way from the root on. */
    beforeAll(async () => {
      const store = opened.backend.responses;
      await append(store, tenant, 'r');
      for (const parentId of ['r', 'ra', 'rb', 'raa']) {
        for (const branch of ['a', 'b']) await append(store, tenant, parentId + branch, { parentId });
      }
    });

    for (const [bounds, expected] of [
      [{ depth: 0, limit: 100 }, 'r(…)'],
      [{ depth: 1, limit: 100 }, 'r(ra(…) rb(…))'],
      [{ depth: 2, limit: 100 }, 'r(ra(raa(…) rab) rb(rba rbb))'],
      [{ depth: 3, limit: 100 }, 'r(ra(raa(raaa raab) rab) rb(rba rbb))'],
      [{ depth: 100, limit: 9 }, 'r(ra(raa(raaa raab) rab) rb(rba rbb))'],
      [{ depth: 100, limit: 8 }, 'r(ra(raa(raaa …) rab) rb(rba rbb))'],
      [{ depth: 100, limit: 5 }, 'r(ra(raa(…) rab) rb(…))'],
      [{ depth: 100, limit: 2 }, 'r(ra(…) …)'],
      [{ depth: 100, limit: 1 }, 'r(…)'],
      [{ depth: 0, limit: 1 }, 'r(…)'],
      [{ depth: 1, limit: 2 }, 'r(ra(…) …)'],
    ] as const) {
      it(`${JSON.stringify(bounds)} leave out what is further from the root`, async () => {
        for (const id of ['r', 'raaa', 'rb']) {
          const tree = await opened.backend.graph.tree(tenant, id, bounds);
          assert.equal(tree && write(tree), expected);
        }
      });
    }

    it('the bounds of trees say nothing of more where there are only deleted children', async () => {
      const other = newTenant();
      const store = opened.backend.responses;
      await append(store, other, 'r');
      await append(store, other, 'ra', { parentId: 'r' });
      await append(store, other, 'raa', { parentId: 'ra' });
      await store.delete(other, 'ra', { cascade: false });
      const tree = await opened.backend.graph.tree(other, 'r', { depth: 0, limit: 1 });
      assert.equal(tree && write(tree), 'r');
      const cut = await opened.backend.graph.tree(other, 'raa', { depth: 0, limit: 1 });
      assert.equal(cut && write(cut), 'raa');
    });

    it('the bounds of trees cut a wide tree in the order of its children', async () => {
      const other = newTenant();
      const store = opened.backend.responses;
      await append(store, other, 'r');
      const children = Array.from({ length: 20 }, (_, index) => `c${String(index).padStart(2, '0')}`);
      for (const id of children.toReversed()) await append(store, other, id, { parentId: 'r' });
      const tree = await opened.backend.graph.tree(other, 'r', { depth: 5, limit: 11 });
      assert.equal(tree && write(tree), `r(${children.slice(0, 10).join(' ')} …)`);
    });
  });
});
