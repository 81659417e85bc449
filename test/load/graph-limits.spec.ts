// Slow: saves 20,000 responses in each of five backends.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { GRAPH_MAX_RESPONSES, GraphTooLargeError } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from '../state/backends.js';
import { lineOf, message, newTenant, recordOf } from '../../src/testing/state/records.js';

const PAGE = { limit: 3, order: 'asc' } as const;
const MEGABYTE = 1024 * 1024;

describe.each(BACKENDS)('limits of the graph in $name', ({ open }) => {
  let opened: OpenedBackend;

  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  describe('a line of 10,001 responses', () => {
    const tenant = newTenant();
    const bounds = { depth: 2, limit: 10 };

    beforeAll(() => opened.saveMany(tenant, lineOf(GRAPH_MAX_RESPONSES + 1)));

    it('a line of 10,001 responses is too long to look for its end', async () => {
      await expect(opened.backend.graph.leaves(tenant, 'r0', PAGE)).rejects.toBeInstanceOf(GraphTooLargeError);
      const leaves = await opened.backend.graph.leaves(tenant, 'r1', PAGE);
      expect(leaves?.data.map(({ id }) => id)).toEqual(['r10000']);
    });

    it('a line of 10,001 responses is too long to look for its root', async () => {
      await expect(opened.backend.graph.tree(tenant, 'r10000', bounds)).rejects.toBeInstanceOf(GraphTooLargeError);
      expect((await opened.backend.graph.tree(tenant, 'r9999', bounds))?.response.id).toBe('r0');
    });

    it('a line of 10,001 responses may well be shown from the root on', async () => {
      const tree = await opened.backend.graph.tree(tenant, 'r0', { depth: 100, limit: 1000 });
      let [depth, node] = [0, tree];
      for (; node?.children[0] !== undefined; node = node.children[0]) depth += 1;
      expect([depth, node?.response.id, node?.hasMore]).toEqual([100, 'r100', true]);
    });

    it('a line of 10,001 responses has one conversation', async () => {
      expect((await opened.backend.responses.chain(tenant, 'r10000'))?.items).toEqual([]);
    });

    it('a line of responses is not too long where a deletion has cut it', async () => {
      await opened.backend.responses.delete(tenant, 'r5000', { cascade: false });
      const leaves = await opened.backend.graph.leaves(tenant, 'r0', PAGE);
      expect(leaves?.data.map(({ id }) => id)).toEqual(['r4999']);
      expect((await opened.backend.graph.tree(tenant, 'r10000', bounds))?.response.id).toBe('r5001');
    });
  });

  describe('a response with 10,000 children', () => {
    const tenant = newTenant();
    const children = Array.from({ length: GRAPH_MAX_RESPONSES }, (_, index) => `c${String(index).padStart(5, '0')}`);

    beforeAll(() =>
      opened.saveMany(tenant, [
        recordOf('root', { input: [], output: [] }),
        ...children.map((id) => recordOf(id, { parentId: 'root', sessionId: 'root', input: [], output: [] })),
      ]),
    );

    it('a response with 10,000 children has too many ends', async () => {
      await expect(opened.backend.graph.leaves(tenant, 'root', PAGE)).rejects.toBeInstanceOf(GraphTooLargeError);
      await opened.backend.responses.delete(tenant, 'c00000', { cascade: false });
      const leaves = await opened.backend.graph.leaves(tenant, 'root', PAGE);
      expect(leaves).toMatchObject({ data: [{ id: 'c00001' }, { id: 'c00002' }, { id: 'c00003' }], hasMore: true });
    });

    it('a response with 10,000 children has pages and trees of them', async () => {
      const page = await opened.backend.graph.children(tenant, 'root', { ...PAGE, order: 'desc', after: 'c09999' });
      expect(page).toMatchObject({ data: [{ id: 'c09998' }, { id: 'c09997' }, { id: 'c09996' }], hasMore: true });
      const tree = await opened.backend.graph.tree(tenant, 'c05000', { depth: 5, limit: 1000 });
      expect([tree?.children.length, tree?.hasMore]).toEqual([999, true]);
    });
  });

  describe('responses larger than half a page', () => {
    const tenant = newTenant();

    beforeAll(async () => {
      const store = opened.backend.responses;
      for (const [index, id] of ['a', 'b', 'c'].entries()) {
        const output = [message(`${id}-out`, 'x'.repeat(9 * MEGABYTE))];
        const parentId = index === 0 ? null : 'a';
        await store.save(tenant, recordOf(id, { output, parentId, sessionId: 'a' }));
      }
    });

    const shown = async (page: object): Promise<unknown> => {
      const { data, hasMore } = await opened.backend.graph.list(tenant, {}, { limit: 10, order: 'asc', ...page });
      return [data.map(({ id }) => id), hasMore];
    };

    it('large responses are shown one by one', async () => {
      expect(await shown({})).toEqual([['a'], true]);
      expect(await shown({ after: 'a' })).toEqual([['b'], true]);
      expect(await shown({ after: 'b' })).toEqual([['c'], false]);
      expect(await shown({ order: 'desc', after: 'b' })).toEqual([['a'], false]);
    });

    it('large responses are shown one by one backward, nearest to the cursor', async () => {
      expect(await shown({ before: 'c' })).toEqual([['b'], true]);
      expect(await shown({ before: 'b' })).toEqual([['a'], false]);
    });

    it('large responses are left out of trees', async () => {
      const tree = await opened.backend.graph.tree(tenant, 'b', { depth: 5, limit: 10 });
      expect(tree).toMatchObject({ response: { id: 'a' }, children: [], hasMore: true });
    });
  });

  it('the limits of the graph are of pages in bytes: one response may be larger than a page', async () => {
    const tenant = newTenant();
    const record = recordOf('huge', { output: [message('out', 'x'.repeat(17 * MEGABYTE))] });
    await opened.backend.responses.save(tenant, record);
    await opened.backend.responses.save(tenant, recordOf('small'));
    const page = await opened.backend.graph.list(tenant, {}, { limit: 10, order: 'asc' });
    expect(page.data[0]?.id).toBe('huge');
    expect([page.data.length, page.hasMore]).toEqual([1, true]);
  });
});
