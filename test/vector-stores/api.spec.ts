import { describe, expect, it } from '@jest/globals';
import { toFile } from 'openai';

import { describeService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const LEAVE = 'Employees have thirty days of leave a year. Leave is requested from the manager.';
const TRAVEL = 'Trains are booked in second class. Flights need the approval of the board.';
const POLL = { pollIntervalMs: 5 };
const NO_WEIGHTS = { embedding_weight: 0, text_weight: 0 };

describe.each(STATES)('vector stores in $state', ({ open }) => {
  const start = () =>
    startServiceIn(open, { environment: { API_KEYS: 'ada:test,eve:other', FILE_INPUT_MAX_BYTES: '100000' } });

  describeService('with the SDK', start, (service) => {
    const upload = async (content: string, name: string): Promise<string> =>
      (await service.client().files.create({ file: await toFile(Buffer.from(content), name), purpose: 'assistants' }))
        .id;

    it('a store is created, changed, listed by pages in both directions, and deleted while it is listed', async () => {
      const { vectorStores } = service.client();
      const made = await vectorStores.create({ name: 'Handbooks', metadata: { team: 'people' } });
      expect(made).toMatchObject({
        ...{ object: 'vector_store', name: 'Handbooks', status: 'completed', usage_bytes: 0 },
        ...{ metadata: { team: 'people' }, expires_at: null, last_active_at: made.created_at },
        file_counts: { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 },
      });
      const expires_after = { anchor: 'last_active_at', days: 7 } as const;
      const changed = await vectorStores.update(made.id, { name: 'Manuals', expires_after });
      expect(changed).toMatchObject({ name: 'Manuals', metadata: { team: 'people' }, expires_after });
      expect(changed.expires_at).toBe((changed.last_active_at ?? 0) + 7 * 86_400);
      expect(await vectorStores.update(made.id, { expires_after: null })).toMatchObject({ expires_at: null });
      const ids = [made.id];
      for (const name of ['b', 'c']) ids.push((await vectorStores.create({ name })).id);
      const listed = async (query: object): Promise<readonly string[]> =>
        (await vectorStores.list(query)).data.map(({ id }) => id);
      expect(await listed({ order: 'asc' })).toEqual(ids);
      expect(await listed({ order: 'asc', after: ids[0], limit: 1 })).toEqual([ids[1]]);
      expect(await listed({ order: 'asc', before: ids[2], limit: 1 })).toEqual([ids[1]]);
      for await (const { id } of vectorStores.list({ limit: 1 })) {
        expect(await vectorStores.delete(id)).toEqual({ id, object: 'vector_store.deleted', deleted: true });
      }
      expect(await listed({})).toEqual([]);
      await expect(vectorStores.retrieve(made.id)).rejects.toMatchObject({
        ...{ status: 404, message: `404 Vector store with id '${made.id}' not found.` },
      });
    });

    it('files are indexed, found by words and by attributes, described, read and taken out', async () => {
      const { vectorStores, files } = service.client();
      const [leave, travel] = [await upload(LEAVE, 'leave.txt'), await upload(TRAVEL, 'travel.md')];
      const store = await vectorStores.create({ name: 'Rules', file_ids: [leave] });
      const added = await vectorStores.files.createAndPoll(
        store.id,
        { file_id: travel, attributes: { topic: 'travel', year: 2026 } },
        POLL,
      );
      expect(added).toMatchObject({
        ...{ id: travel, object: 'vector_store.file', status: 'completed', last_error: null },
        ...{ attributes: { topic: 'travel', year: 2026 }, vector_store_id: store.id },
        chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 } },
      });
      expect(added.usage_bytes).toBeGreaterThan(TRAVEL.length);
      await vectorStores.files.poll(store.id, leave, POLL);
      expect(await vectorStores.retrieve(store.id)).toMatchObject({
        ...{ status: 'completed', file_counts: { completed: 2, total: 2 } },
      });
      const found = await vectorStores.search(store.id, { query: 'How many days of leave are there?' });
      expect(found.data[0]).toMatchObject({
        ...{ file_id: leave, filename: 'leave.txt', attributes: {}, content: [{ type: 'text', text: LEAVE }] },
      });
      expect(found.data[0]?.score).toBeLessThanOrEqual(1);
      const filters = { type: 'eq', key: 'topic', value: 'travel' } as const;
      const filtered = await vectorStores.search(store.id, { query: ['leave', 'trains'], filters });
      expect(filtered.data.map(({ file_id: id }) => id)).toEqual([travel]);
      expect(filtered).toMatchObject({ object: 'vector_store.search_results.page' });
      const strict = { query: 'leave', ranking_options: { ranker: 'none', score_threshold: 0.99 } } as const;
      expect((await vectorStores.search(store.id, strict)).data).toEqual([]);
      await vectorStores.files.update(leave, { vector_store_id: store.id, attributes: { topic: 'leave' } });
      // What is absent stays.
      expect(await vectorStores.files.update(leave, { vector_store_id: store.id } as never)).toMatchObject({
        attributes: { topic: 'leave' },
      });
      const other = { type: 'ne', key: 'topic', value: 'travel' } as const;
      const again = await vectorStores.search(store.id, { query: 'leave', filters: other });
      expect(again.data).toMatchObject([{ file_id: leave, attributes: { topic: 'leave' } }]);
      const content = await vectorStores.files.content(travel, { vector_store_id: store.id });
      expect(content.data).toEqual([{ type: 'text', text: TRAVEL }]);
      const byStatus = await vectorStores.files.list(store.id, { filter: 'completed', order: 'asc' });
      expect(byStatus.data.map(({ id }) => id)).toEqual([leave, travel]);
      expect((await vectorStores.files.list(store.id, { filter: 'failed' })).data).toEqual([]);
      // A file that is deleted is in no store any more.
      await files.delete(travel);
      expect((await vectorStores.search(store.id, { query: 'trains' })).data.map(({ file_id: id }) => id)).toEqual([
        leave,
      ]);
      await vectorStores.files.delete(leave, { vector_store_id: store.id });
      expect((await vectorStores.search(store.id, { query: 'leave' })).data).toEqual([]);
      expect(await files.retrieve(leave)).toMatchObject({ filename: 'leave.txt' });
      expect(await vectorStores.retrieve(store.id)).toMatchObject({ usage_bytes: 0, file_counts: { total: 0 } });
    });

    it('a batch ends with the files that could be read and the reasons of those that could not', async () => {
      const { vectorStores, files } = service.client();
      const store = await vectorStores.create({});
      const image = await files.create({
        ...{ file: await toFile(Buffer.from([0, 1, 2, 255]), 'dot.png'), purpose: 'vision' },
      });
      const [empty, large] = [await upload(' \n ', 'empty.txt'), await upload('x'.repeat(100_001), 'large.txt')];
      const [good, cut] = [await upload(LEAVE, 'good.txt'), await upload(`${LEAVE}\n`.repeat(40), 'cut.txt')];
      const chunking_strategy = {
        type: 'static',
        static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 20 },
      } as const;
      const batch = await vectorStores.fileBatches.createAndPoll(
        store.id,
        {
          files: [
            ...[image.id, empty, large, good].map((file_id) => ({ file_id })),
            { file_id: cut, chunking_strategy, attributes: { long: true } },
          ],
        },
        POLL,
      );
      expect(batch).toMatchObject({
        ...{ object: 'vector_store.files_batch', status: 'completed' },
        file_counts: { in_progress: 0, completed: 2, failed: 3, cancelled: 0, total: 5 },
      });
      const query = { vector_store_id: store.id, filter: 'failed', order: 'asc' } as const;
      const failed = await vectorStores.fileBatches.listFiles(batch.id, query);
      const reasons = Object.fromEntries(failed.data.map(({ id, last_error: error }) => [id, error]));
      expect(reasons[image.id]).toMatchObject({ code: 'unsupported_file', message: expect.stringContaining('image/') });
      expect(reasons[empty]).toEqual({ code: 'invalid_file', message: 'The file has no text.' });
      expect(reasons[large]).toMatchObject({ message: expect.stringContaining('FILE_INPUT_MAX_BYTES') });
      const { data: chunks } = await vectorStores.files.content(cut, { vector_store_id: store.id });
      expect(chunks.length).toBeGreaterThan(5);
      expect(chunks[1]?.text?.startsWith('Employees')).toBe(true);
    });

    it('bad requests are refused with the parameter and what would be right', async () => {
      const { vectorStores } = service.client();
      const { id } = await vectorStores.create({});
      const file = await upload(LEAVE, 'leave.txt');
      const overlapping = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 51 } } as const;
      const many = { type: 'in' as const, key: 'a', value: Array<string>(501).fill('x') };
      const large = { type: 'and' as const, filters: [many, many] };
      const refusals: readonly (readonly [attempt: () => Promise<unknown>, param: string])[] = [
        [() => vectorStores.create({ metadata: 1 as never }), 'metadata'],
        [
          () => vectorStores.create({ expires_after: { anchor: 'created_at' as never, days: 1 } }),
          'expires_after.anchor',
        ],
        [() => vectorStores.search(id, { query: [] }), 'query'],
        [() => vectorStores.search(id, { query: Array<string>(21).fill('x') }), 'query'],
        [() => vectorStores.search(id, { query: 'x', filters: large }), 'filters'],
        [() => vectorStores.search(id, { query: 'x', max_num_results: 51 }), 'max_num_results'],
        [() => vectorStores.search(id, { query: 'x', filters: { type: 'like' } as never }), 'filters.type'],
        [() => vectorStores.search(id, { query: 'x', rewrite_query: true }), 'rewrite_query'],
        [
          () => vectorStores.files.create(id, { file_id: file, chunking_strategy: overlapping }),
          'chunking_strategy.static.chunk_overlap_tokens',
        ],
        [() => vectorStores.files.create(id, { file_id: file, attributes: { a: null as never } }), 'attributes.a'],
        [
          () => vectorStores.search(id, { query: 'x', ranking_options: { hybrid_search: NO_WEIGHTS } } as never),
          'ranking_options.hybrid_search',
        ],
        [() => vectorStores.fileBatches.create(id, {}), 'file_ids'],
        [() => vectorStores.fileBatches.create(id, { files: [] }), 'files'],
        [() => vectorStores.fileBatches.create(id, { files: Array(501).fill({ file_id: file }) }), 'files'],
        [
          () => vectorStores.fileBatches.create(id, { files: [{ file_id: file }], attributes: { year: 2026 } }),
          'attributes',
        ],
        [
          () =>
            vectorStores.fileBatches.create(id, { files: [{ file_id: file }], chunking_strategy: { type: 'auto' } }),
          'chunking_strategy',
        ],
        [() => vectorStores.fileBatches.create(id, { file_ids: [file], files: [{ file_id: file }] }), 'files'],
        [() => vectorStores.list({ after: 'a', before: 'b' }), 'before'],
        [() => vectorStores.files.list(id, { filter: 'done' as never }), 'filter'],
      ];
      for (const [attempt, param] of refusals) {
        await expect(attempt()).rejects.toMatchObject({ status: 400, param });
      }
    });
  });
});
