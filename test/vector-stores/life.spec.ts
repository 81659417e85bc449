import { beforeAll, describe, expect, it } from '@jest/globals';
import { toFile } from 'openai';

import { ModelError } from '../../src/index.js';
import { simulateEmbeddings } from '../../src/simulator/simulated-embeddings.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';

const POLL = { pollIntervalMs: 5 };
const service = useService({ providers: [ScriptedProvider], environment: { METRICS: true } });

/** What is done when vectors are asked for, before they are made. */
let ahead: () => Promise<void> = async () => undefined;

beforeAll(() => {
  service.provider.embed = async (request) => {
    await ahead();
    return simulateEmbeddings(request);
  };
});

/** Holds the next request for vectors, which `reached` awaits, until `release` is called. */
function hold(): { readonly reached: Promise<null>; readonly release: () => void } {
  const reached = Promise.withResolvers<null>();
  const released = Promise.withResolvers<null>();
  ahead = async () => {
    ahead = async () => undefined;
    reached.resolve(null);
    await released.promise;
  };
  return { reached: reached.promise, release: () => released.resolve(null) };
}

const upload = async (text: string): Promise<string> =>
  (await service.client().files.create({ file: await toFile(Buffer.from(text), 'a.txt'), purpose: 'assistants' })).id;

describe('the files of a vector store', () => {
  it('files of a vector store that are indexed while their batch is cancelled are cancelled, and not found', async () => {
    const { vectorStores } = service.client();
    const { id } = await vectorStores.create({});
    const held = hold();
    const batch = await vectorStores.fileBatches.create(id, { file_ids: [await upload('Bees dance.')] });
    await held.reached;
    expect(await vectorStores.fileBatches.cancel(batch.id, { vector_store_id: id })).toMatchObject({
      ...{ status: 'cancelled', file_counts: { cancelled: 1, in_progress: 0 } },
    });
    held.release();
    // Another file of the same process comes after it.
    await vectorStores.files.createAndPoll(id, { file_id: await upload('Ants walk.') }, POLL);
    const found = await vectorStores.search(id, { query: 'bees dance' });
    expect(found.data.map(({ content }) => content[0]?.text)).toEqual(['Ants walk.']);
    expect(await vectorStores.retrieve(id)).toMatchObject({ file_counts: { cancelled: 1, completed: 1 } });
  });

  it('files of a vector store that are added again are cut again, and found as before until that is done', async () => {
    const { vectorStores } = service.client();
    const { id } = await vectorStores.create({});
    const file_id = await upload(`${'Bees dance in the hive to show where the flowers are. '.repeat(30)}\n`);
    await vectorStores.files.createAndPoll(id, { file_id }, POLL);
    const chunks = async (): Promise<number> =>
      (await vectorStores.files.content(file_id, { vector_store_id: id })).data.length;
    expect(await chunks()).toBe(1);
    const held = hold();
    const sizes = { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 };
    await vectorStores.files.create(id, { file_id, chunking_strategy: { type: 'static', static: sizes } });
    await held.reached;
    expect(await vectorStores.files.retrieve(file_id, { vector_store_id: id })).toMatchObject({
      status: 'in_progress',
    });
    expect(await chunks()).toBe(1);
    held.release();
    await vectorStores.files.poll(id, file_id, POLL);
    expect(await chunks()).toBeGreaterThan(2);
  });

  it('files of a vector store that are added again and cancelled are not found as they were before either, and take no room', async () => {
    const { vectorStores } = service.client();
    const { id } = await vectorStores.create({});
    const file_id = await upload('Bees dance.');
    await vectorStores.files.createAndPoll(id, { file_id }, POLL);
    const { usage_bytes: before } = await vectorStores.retrieve(id);
    const held = hold();
    const batch = await vectorStores.fileBatches.create(id, { file_ids: [file_id] });
    await held.reached;
    // Until then it is found, and counts.
    expect(await vectorStores.retrieve(id)).toMatchObject({ usage_bytes: before });
    expect(await vectorStores.files.retrieve(file_id, { vector_store_id: id })).toMatchObject({ usage_bytes: before });
    await vectorStores.fileBatches.cancel(batch.id, { vector_store_id: id });
    expect((await vectorStores.search(id, { query: 'bees' })).data).toEqual([]);
    expect((await vectorStores.files.content(file_id, { vector_store_id: id })).data).toEqual([]);
    held.release();
    await vectorStores.files.createAndPoll(id, { file_id: await upload('Ants walk.') }, POLL);
    expect((await vectorStores.search(id, { query: 'bees' })).data).toHaveLength(1);
    const { usage_bytes: after } = await vectorStores.retrieve(id);
    expect(after).toBeLessThan(before);
  });

  it('the files of a vector store have the attributes that they were given while they were indexed', async () => {
    const { vectorStores } = service.client();
    const { id } = await vectorStores.create({});
    const file_id = await upload('Bees dance.');
    const held = hold();
    await vectorStores.files.create(id, { file_id, attributes: { year: 2025 } });
    await held.reached;
    await vectorStores.files.update(file_id, { vector_store_id: id, attributes: { year: 2026 } });
    held.release();
    await vectorStores.files.poll(id, file_id, POLL);
    const filters = { type: 'eq', key: 'year', value: 2026 } as const;
    expect((await vectorStores.search(id, { query: 'bees', filters })).data).toHaveLength(1);
  });

  it('files of a vector store wait for an embedding model that is busy, and fail for one that refuses them', async () => {
    const { vectorStores } = service.client();
    const { id } = await vectorStores.create({});
    const refusals = [429, 503, 400];
    ahead = async () => {
      const status = refusals.shift();
      if (status === undefined) return;
      throw new ModelError(status === 400 ? 'invalid_value' : 'rate_limit_exceeded', `no: ${status}`, { status });
    };
    const failed = await vectorStores.files.createAndPoll(id, { file_id: await upload('Bees dance.') }, POLL);
    expect(failed).toMatchObject({
      ...{ status: 'failed', usage_bytes: 0 },
      last_error: { code: 'server_error', message: expect.stringMatching(/'text-embedding-3-small': no: 400/) },
    });
    expect(refusals).toEqual([]);
    const metrics = await (await fetch(`${service.origin}/metrics`)).text();
    expect(metrics).toMatch(/antiphon_indexed_files_total\{outcome="failed"\} 1/);
    expect(metrics).toMatch(/antiphon_indexed_files_total\{outcome="dropped"\} 2/);
    expect(metrics).toMatch(/antiphon_indexed_files_total\{outcome="postponed"\} 2/);
  });

  it('the files of a vector store are not found any more when they are added again and fail', async () => {
    const { vectorStores } = service.client();
    const { id } = await vectorStores.create({});
    const file_id = await upload('Bees dance.');
    await vectorStores.files.createAndPoll(id, { file_id }, POLL);
    ahead = async () => {
      ahead = async () => undefined;
      throw new ModelError('invalid_value', 'no', { status: 400 });
    };
    expect(await vectorStores.files.createAndPoll(id, { file_id }, POLL)).toMatchObject({ status: 'failed' });
    expect((await vectorStores.search(id, { query: 'bees' })).data).toEqual([]);
    expect((await vectorStores.files.content(file_id, { vector_store_id: id })).data).toEqual([]);
  });

  it('files are not indexed beyond VECTOR_STORES_MAX_BYTES, and stores not created beyond VECTOR_STORES_MAX_COUNT', async () => {
    const environment = { VECTOR_STORES_MAX_BYTES: 10_000, VECTOR_STORES_MAX_COUNT: 1 };
    await using small = await startService({ environment });
    const { vectorStores, files } = small.client();
    const { id } = await vectorStores.create({});
    await expect(vectorStores.create({})).rejects.toMatchObject({ status: 400, code: 'vector_store_quota_exceeded' });
    const add = async () => {
      const file = await files.create({
        file: await toFile(Buffer.from('Bees dance.'), 'a.txt'),
        purpose: 'assistants',
      });
      return vectorStores.files.createAndPoll(id, { file_id: file.id }, POLL);
    };
    // One vector has 6,144 bytes.
    expect(await add()).toMatchObject({ status: 'completed' });
    expect(await add()).toMatchObject({ status: 'failed', last_error: { message: expect.stringContaining('10000') } });
    await vectorStores.delete(id);
    expect(await vectorStores.create({})).toMatchObject({ object: 'vector_store' });
  });

  it('files are not added to a store whose embedding model nobody has', async () => {
    const { provider } = service;
    const embed = provider.embed?.bind(provider);
    delete provider.embed;
    try {
      await expect(service.client().vectorStores.create({})).rejects.toMatchObject({
        ...{ status: 400, code: 'vector_stores_not_configured', message: expect.stringContaining('EMBEDDING_MODEL') },
      });
    } finally {
      if (embed !== undefined) provider.embed = embed;
    }
  });
});
