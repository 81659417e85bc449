import { beforeEach, describe, expect, it } from '@jest/globals';
import { toFile } from 'openai';

import { asTenant } from '../../src/access/index.js';
import { Documents } from '../../src/files/documents/index.js';
import { Clock, ModelError, StateBackend, StoreUnavailableError } from '../../src/index.js';
import { simulateEmbeddings } from '../../src/simulator/simulated-embeddings.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { useFreshService } from '../support/describe-service.js';
import { startService } from '../support/service.js';

const POLL = { pollIntervalMs: 5 };

let clock: FakeClock;
const service = useFreshService(() => {
  clock = new FakeClock();
  return startService({
    providers: [ScriptedProvider],
    environment: { API_KEYS: 'ada:test,eve:other', INDEX_PARALLEL_FILES: 1, DOCUMENT_THREADS: 1 },
    overrides: [[Clock, clock]],
  });
});

/** Whether the model makes no vectors of texts about bees, and how often it was asked for some. */
let isAway = true;
let refused = 0;

beforeEach(() => {
  [isAway, refused] = [true, 0];
  service.provider.embed = async (request) => {
    if (!isAway || !request.inputs.some((input) => String(input).includes('Bees'))) return simulateEmbeddings(request);
    refused += 1;
    throw new ModelError('server_error', 'It is away.', { status: 503 });
  };
});

async function add(apiKey: string, text: string): Promise<readonly [storeId: string, fileId: string]> {
  const { vectorStores, files } = service.client({ apiKey });
  const { id } = await vectorStores.create({});
  const file = await files.create({ file: await toFile(Buffer.from(text), 'a.txt'), purpose: 'assistants' });
  await vectorStores.files.create(id, { file_id: file.id });
  return [id, file.id];
}

/** Lets time pass, in steps, until something holds. */
async function until(holds: () => boolean | Promise<boolean>, stepMs: number): Promise<void> {
  while (!(await holds())) {
    clock.advance(stepMs);
    await new Promise(setImmediate);
  }
}

describe('a file of a vector store', () => {
  it('a file of a vector store is indexed after an outage of its model, however often it was tried, and holds up nobody meanwhile', async () => {
    const bees = await add('test', 'Bees dance.');
    const ants = await add('other', 'Ants walk.');
    const others = service.client({ apiKey: 'other' }).vectorStores;
    expect(await others.files.poll(...ants, POLL)).toMatchObject({ status: 'completed' });
    await until(() => refused > 6, 10_000);
    const { vectorStores } = service.client();
    const file = await vectorStores.files.retrieve(bees[1], { vector_store_id: bees[0] });
    expect(file).toMatchObject({ status: 'in_progress' });
    isAway = false;
    const isDone = async (): Promise<boolean> =>
      (await vectorStores.files.retrieve(bees[1], { vector_store_id: bees[0] })).status === 'completed';
    await until(isDone, 10_000);
  });

  it('a file is not claimed while its model is away: one of them is tried after each pause', async () => {
    const { vectorStores: records } = service.app.get(StateBackend);
    if (records === undefined) throw new Error('the backend has no VectorStoreRecords');
    const giveBack = records.giveBack.bind(records);
    let givenBack = 0;
    records.giveBack = (...values) => {
      givenBack += 1;
      return giveBack(...values);
    };
    const [storeId] = await add('test', 'Bees dance.');
    const { files, vectorStores } = service.client();
    for (let index = 0; index < 10; index++) {
      const file = await files.create({
        file: await toFile(Buffer.from(`Bees ${index}`), 'a.txt'),
        purpose: 'assistants',
      });
      await vectorStores.files.create(storeId, { file_id: file.id });
    }
    await until(() => refused > 6, 10_000);
    expect(givenBack).toBeLessThanOrEqual(refused + 1);
    isAway = false;
    const areDone = async (): Promise<boolean> => (await vectorStores.retrieve(storeId)).file_counts.completed === 11;
    await until(areDone, 10_000);
  });

  it('whose end cannot be written is not indexed again', async () => {
    isAway = false;
    const { vectorStores: records } = service.app.get(StateBackend);
    if (records === undefined) throw new Error('the backend has no VectorStoreRecords');
    const settle = records.settle.bind(records);
    let failures = 0;
    records.settle = (...values) => {
      if (failures === 2) return settle(...values);
      failures += 1;
      throw new StoreUnavailableError('the disk is full');
    };
    let embedded = 0;
    const embed = service.provider.embed?.bind(service.provider);
    service.provider.embed = async (...asked) => {
      embedded += 1;
      return (await embed?.(...asked)) as never;
    };
    using log = ServiceLog.begin();
    const [storeId, fileId] = await add('test', 'Ants walk.');
    const { vectorStores } = service.client();
    const isDone = async (): Promise<boolean> =>
      (await vectorStores.files.retrieve(fileId, { vector_store_id: storeId })).status === 'completed';
    await until(isDone, 1000);
    expect([failures, embedded]).toEqual([2, 1]);
    expect(log.complaints.join()).toContain(`${fileId} is completed, which was not written yet: the disk is full`);
  });

  it('a file of a vector store fails when its model is away for a day', async () => {
    const [storeId, fileId] = await add('test', 'Bees dance.');
    const { vectorStores } = service.client();
    const isOver = async (): Promise<boolean> =>
      (await vectorStores.files.retrieve(fileId, { vector_store_id: storeId })).status !== 'in_progress';
    await until(isOver, 900_000);
    expect(await vectorStores.files.retrieve(fileId, { vector_store_id: storeId })).toMatchObject({
      last_error: { code: 'server_error', message: expect.stringContaining('It is away.') },
    });
  });

  it('a file of a vector store waits for its model, whatever failed days ago and was never indexed here', async () => {
    const first = await add('test', 'Bees dance.');
    const { vectorStores } = service.client();
    await until(() => refused > 0, 0);
    await vectorStores.files.delete(first[1], { vector_store_id: first[0] });
    clock.advance(2 * 86_400_000);
    const [storeId, fileId] = await add('test', 'Bees sleep.');
    const before = refused;
    await until(() => refused > before + 2, 10_000);
    const file = await vectorStores.files.retrieve(fileId, { vector_store_id: storeId });
    expect(file).toMatchObject({ status: 'in_progress', last_error: null });
  });

  it('a file of a vector store is indexed after an outage of the database, however often it was tried, and not at once again', async () => {
    const { vectors } = service.app.get(StateBackend);
    if (vectors === undefined) throw new Error('the backend has no VectorIndex');
    const append = vectors.append.bind(vectors);
    let appended = 0;
    let isFull = true;
    vectors.append = async (...chunks) => {
      appended += 1;
      if (isFull) throw new StoreUnavailableError('the disk is full');
      await append(...chunks);
    };
    using log = ServiceLog.begin();
    const [storeId, fileId] = await add('test', 'Ants walk.');
    const { vectorStores } = service.client();
    await until(() => log.complaints.some((line) => line.includes('the disk is full')), 0);
    await vectorStores.files.retrieve(fileId, { vector_store_id: storeId });
    expect(appended).toBe(1);
    await until(() => appended > 6, 10_000);
    isFull = false;
    const isDone = async (): Promise<boolean> =>
      (await vectorStores.files.retrieve(fileId, { vector_store_id: storeId })).status === 'completed';
    await until(isDone, 10_000);
  });

  it('a file of a vector store is indexed later when too many documents wait to be read', async () => {
    const documents = service.app.get(Documents);
    const stop = new AbortController();
    const options = { owner: asTenant('ada'), signal: stop.signal };
    // The only thread reads this one until it is stopped, and the others of the tenant wait, as many as may.
    const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
    const endless = { bytes: bytesOf(`<body>${'<table><tr><td>'.repeat(100_000)}x`), contentType: 'text/html' };
    const waiting = Array.from({ length: 256 }, () => ({ bytes: bytesOf('x'), contentType: 'text/plain' }));
    const reading = [endless, ...waiting].map((document) => documents.read(document, options));
    const ended = Promise.allSettled(reading);
    using log = ServiceLog.begin();
    const [storeId, fileId] = await add('test', 'Ants walk.');
    await until(() => log.complaints.some((line) => line.includes(`${fileId} is indexed later`)), 0);
    stop.abort(new Error('stopped'));
    await ended;
    const { vectorStores } = service.client();
    const isDone = async (): Promise<boolean> =>
      (await vectorStores.files.retrieve(fileId, { vector_store_id: storeId })).status !== 'in_progress';
    await until(isDone, 1000);
    expect(await vectorStores.files.retrieve(fileId, { vector_store_id: storeId })).toMatchObject({
      status: 'completed',
    });
  });
});

describe('a vector store', () => {
  it('a vector store is not brought back by a search that was running when it expired', async () => {
    isAway = false;
    const { vectorStores } = service.client();
    const { id } = await vectorStores.create({ expires_after: { anchor: 'last_active_at', days: 1 } });
    const embed = service.provider.embed?.bind(service.provider);
    service.provider.embed = async (...asked) => {
      clock.advance(86_400_000);
      return (await embed?.(...asked)) as never;
    };
    await vectorStores.search(id, { query: 'bees' });
    expect(await vectorStores.retrieve(id)).toMatchObject({ status: 'expired' });
    await expect(vectorStores.search(id, { query: 'bees' })).rejects.toMatchObject({ code: 'vector_store_expired' });
    await expect(vectorStores.update(id, { name: 'x' })).rejects.toMatchObject({ code: 'vector_store_expired' });
  });
});
