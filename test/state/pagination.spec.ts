// Slow: opens each backend for each of its tests.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';

import type { Tenant } from '../../src/access/index.js';
import type { ResponseObject } from '../../src/protocol/index.js';
import type { Page, PageRequest, StateBackend } from '../../src/state/index.js';
import { append, newTenant } from '../../src/testing/state/records.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { forests, inOrder, plant, type Planted } from './forest.js';

type Give = (page: PageRequest) => Promise<Page<ResponseObject> | undefined>;

/** Follows the cursors from one end of a list to the other, and checks each page; `between` runs between pages. */
async function walk(
  give: Give,
  { limit, order }: Pick<PageRequest, 'limit' | 'order'>,
  between: () => Promise<void> = async () => undefined,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let after: string | undefined; ; after = ids.at(-1)) {
    const page = await give({ limit, order, ...(after === undefined ? {} : { after }) });
    if (page === undefined) throw new Error('the list is there');
    ids.push(...page.data.map(({ id }) => id));
    if (!page.hasMore) return ids;
    expect(page.data).toHaveLength(limit);
    await between();
  }
}

/** Follows the cursors backward, from an entry on; gives what is in front of it, in the order of the list. */
async function walkBack(
  give: Give,
  { limit, order }: Pick<PageRequest, 'limit' | 'order'>,
  from: string,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let before = from; ; before = ids[0] ?? from) {
    const page = await give({ limit, order, before });
    if (page === undefined) throw new Error('the list is there');
    ids.unshift(...page.data.map(({ id }) => id));
    if (!page.hasMore) return ids;
    expect(page.data).toHaveLength(limit);
  }
}

const pages = fc.record({ limit: fc.integer({ min: 1, max: 8 }), order: fc.constantFrom('asc', 'desc') });

describe.each(BACKENDS)('pages in $name', ({ open }) => {
  let opened: OpenedBackend;

  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  /** The lists of a forest with what is in them. */
  const listsOf = (
    { graph }: StateBackend,
    tenant: Tenant,
    forest: readonly Planted[],
  ): [Give, readonly Planted[]][] => {
    const living = forest.filter(({ isDeleted }) => !isDeleted);
    const parents = living.filter(({ id }) => living.some(({ parentId }) => parentId === id));
    return [
      [(page) => graph.list(tenant, {}, page), living],
      [(page) => graph.list(tenant, { sessionId: 'session' }, page), living],
      ...parents.map(({ id }): [Give, readonly Planted[]] => [
        (page) => graph.children(tenant, id, page),
        living.filter(({ parentId }) => parentId === id),
      ]),
    ];
  };

  it('pages give each entry exactly once, forward and backward', async () => {
    await fc.assert(
      fc.asyncProperty(forests, pages, async (forest, request) => {
        const tenant = newTenant();
        await plant(opened.backend, tenant, forest);
        for (const [give, entries] of listsOf(opened.backend, tenant, forest)) {
          const ascending = inOrder(entries).map(({ id }) => id);
          const expected = request.order === 'asc' ? ascending : ascending.toReversed();
          expect(await walk(give, request)).toEqual(expected);
          const last = expected.at(-1);
          if (last !== undefined) expect(await walkBack(give, request, last)).toEqual(expected.slice(0, -1));
        }
      }),
      { numRuns: 40 },
    );
  });

  it('pages neither repeat nor hide anything when older and newer entries come between them', async () => {
    await fc.assert(
      fc.asyncProperty(forests, pages, fc.array(fc.nat({ max: 5 })), async (forest, request, seconds) => {
        const tenant = newTenant();
        await plant(opened.backend, tenant, forest);
        const living = inOrder(forest.filter(({ isDeleted }) => !isDeleted)).map(({ id }) => id);
        const oldest = Math.min(...forest.map(({ createdAt }) => createdAt));
        const ids = await walk(
          (page) => opened.backend.graph.list(tenant, {}, page),
          request,
          async () => {
            // What comes may lie behind the cursor as well as in front of it.
            const second = seconds.shift();
            if (second === undefined) return;
            await append(opened.backend.responses, tenant, `~${seconds.length}`, { createdAt: oldest - 1 + second });
          },
        );
        const old = ids.filter((id) => !id.startsWith('~'));
        expect(old).toEqual(request.order === 'asc' ? living : living.toReversed());
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: 40 },
    );
  });

  it('pages go on behind an entry when others are deleted between them', async () => {
    const tenant = newTenant();
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    for (const id of ids) await append(opened.backend.responses, tenant, id);
    const doomed = ['a', 'd', 'e'];
    const shown = await walk(
      (page) => opened.backend.graph.list(tenant, {}, page),
      { limit: 2, order: 'asc' },
      async () => {
        for (const id of doomed.splice(0)) await opened.backend.responses.delete(tenant, id, { cascade: false });
      },
    );
    expect(shown).toEqual(['a', 'b', 'c', 'f', 'g']);
  });
});
