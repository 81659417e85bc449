import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';

import type { ResponseObject } from '../../src/protocol/index.js';
import type { Page, TreeNode } from '../../src/state/index.js';
import { contextFrom, contextOf, newTenant } from '../../src/testing/state/records.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { forests, inOrder, plant, type Planted } from './forest.js';

const PAGE = { limit: 100, order: 'asc' } as const;
const ALL = { depth: 100, limit: 1000 };

/** A tree as text: `root(child(grandchild) child)`. */
function write({ response, children, hasMore }: TreeNode): string {
  const inner = [...children.map(write), ...(hasMore ? ['…'] : [])].join(' ');
  return inner === '' ? response.id : `${response.id}(${inner})`;
}

function idsOf(page: Page<ResponseObject> | undefined): readonly string[] | undefined {
  return page?.data.map(({ id }) => id);
}

describe.each(BACKENDS)('relatives in $name', ({ open }) => {
  let opened: OpenedBackend;

  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  it('the relatives of a response are those of the forest that can be seen', async () => {
    const { graph, responses: store } = opened.backend;
    await fc.assert(
      fc.asyncProperty(forests, async (forest) => {
        const tenant = newTenant();
        await plant(opened.backend, tenant, forest);
        const living = inOrder(forest.filter(({ isDeleted }) => !isDeleted));
        const of = new Map(forest.map((planted) => [planted.id, planted]));
        const childrenOf = (id: string): readonly Planted[] => living.filter(({ parentId }) => parentId === id);
        const subtreeOf = (planted: Planted): readonly Planted[] => [
          planted,
          ...childrenOf(planted.id).flatMap(subtreeOf),
        ];
        const rootOf = (planted: Planted): Planted => {
          const parent = living.find(({ id }) => id === planted.parentId);
          return parent === undefined ? planted : rootOf(parent);
        };
        const pathTo = (id: string | null): readonly string[] =>
          id === null ? [] : [...pathTo(of.get(id)?.parentId ?? null), id];
        const writeTree = ({ id }: Planted): string => {
          const children = childrenOf(id).map(writeTree).join(' ');
          return children === '' ? id : `${id}(${children})`;
        };
        for (const planted of living) {
          const { id, parentId } = planted;
          const hasParent = living.some((parent) => parent.id === parentId);
          const siblings = living.filter((other) => hasParent && other.parentId === parentId && other.id !== id);
          const leaves = subtreeOf(planted).filter((member) => childrenOf(member.id).length === 0);
          const tree = await graph.tree(tenant, id, ALL);
          expect(idsOf(await graph.children(tenant, id, PAGE))).toEqual(childrenOf(id).map((child) => child.id));
          expect(idsOf(await graph.siblings(tenant, id, PAGE))).toEqual(siblings.map((sibling) => sibling.id));
          expect(idsOf(await graph.leaves(tenant, id, PAGE))).toEqual(inOrder(leaves).map((leaf) => leaf.id));
          expect(tree && write(tree)).toBe(writeTree(rootOf(planted)));
          expect(await contextOf(store, tenant, id)).toEqual(contextFrom(...pathTo(id)));
        }
        for (const { id } of forest.filter(({ isDeleted }) => isDeleted)) {
          for (const list of ['children', 'siblings', 'leaves'] as const) {
            expect(await graph[list](tenant, id, PAGE)).toBeUndefined();
          }
          expect(await graph.tree(tenant, id, ALL)).toBeUndefined();
        }
      }),
      { numRuns: 25 },
    );
  });
});
