import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';

import { describe, expect, it } from '@jest/globals';
import { toFile } from 'openai';

import { ModelError } from '../../src/index.js';
import { exportState, importState, StateBackend } from '../../src/state/index.js';
import { simulateEmbeddings } from '../../src/simulator/simulated-embeddings.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { type Service, startService } from '../support/service.js';
import { EVERY_STATE, type TestState } from '../support/state-backends.js';

const POLL = { pollIntervalMs: 5 };

/** A service whose model makes vectors, once `ahead` is over. */
async function start(state: TestState, ahead: () => Promise<unknown> = async () => undefined): Promise<Service> {
  const service = await startService({ providers: [ScriptedProvider], environment: state.environment });
  service.app.get(ScriptedProvider).embed = async (request) => {
    await ahead();
    return simulateEmbeddings(request);
  };
  return service;
}

async function fill(service: Service): Promise<{ readonly storeId: string; readonly fileId: string }> {
  const { vectorStores, files } = service.client();
  const store = await vectorStores.create({ name: 'Rules', metadata: { a: 'b' } });
  const file = await files.create({ file: await toFile(Buffer.from('Bees dance.'), 'a.txt'), purpose: 'assistants' });
  await vectorStores.files.create(store.id, { file_id: file.id, attributes: { year: 2026 } });
  return { storeId: store.id, fileId: file.id };
}

const DURABLE = EVERY_STATE.filter(({ state }) => state === 'sqlite' || state === 'postgres');

describe.each(DURABLE)('vector stores in $state', ({ open }) => {
  it('a file of a vector store is indexed by the next process when the one before was stopped with it', async () => {
    await using state = await open();
    const reached = Promise.withResolvers<null>();
    const stopped = Promise.withResolvers<null>();
    const first = await start(state, async () => {
      reached.resolve(null);
      await stopped.promise;
    });
    const { storeId, fileId } = await fill(first);
    await reached.promise;
    const closing = first.close();
    stopped.resolve(null);
    await closing;
    await using second = await start(state);
    const { vectorStores } = second.client();
    const indexed = await vectorStores.files.poll(storeId, fileId, POLL);
    expect(indexed).toMatchObject({ status: 'completed', attributes: { year: 2026 } });
    expect((await vectorStores.search(storeId, { query: 'bees' })).data).toHaveLength(1);
  });

  it('a file of a vector store is indexed when its model is there again', async () => {
    await using state = await open();
    const refusals = [503, 429];
    await using service = await start(state, async () => {
      const status = refusals.shift();
      if (status !== undefined) throw new ModelError('server_error', 'It is away.', { status });
    });
    using log = ServiceLog.begin();
    const { storeId, fileId } = await fill(service);
    const indexed = await service.client().vectorStores.files.poll(storeId, fileId, POLL);
    expect(indexed).toMatchObject({ status: 'completed', last_error: null });
    expect(refusals).toEqual([]);
    // Each refusal ends the claim at once: the next try does not wait until a lease is over.
    expect(log.complaints.join('\n')).toMatch(/is indexed later.*It is away/);
    expect(log.complaints.join('\n')).not.toContain('was not given back');
  });
});

describe('a file of a vector store', () => {
  it('a file of a vector store is indexed in the end, however often the service was restarted before', async () => {
    const [sqlite] = DURABLE;
    if (sqlite === undefined) throw new Error('expected a kind of state');
    await using state = await sqlite.open();
    let filled: Awaited<ReturnType<typeof fill>> | undefined;
    for (let restarts = 0; restarts < 6; restarts += 1) {
      const reached = Promise.withResolvers<null>();
      const stopped = Promise.withResolvers<null>();
      const service = await start(state, async () => {
        reached.resolve(null);
        await stopped.promise;
      });
      filled ??= await fill(service);
      await reached.promise;
      const closing = service.close();
      stopped.resolve(null);
      await closing;
    }
    await using last = await start(state);
    const { storeId, fileId } = filled ?? { storeId: '', fileId: '' };
    expect(await last.client().vectorStores.files.poll(storeId, fileId, POLL)).toMatchObject({ status: 'completed' });
  });
});

describe('an export', () => {
  it('an export has vector stores, whose files are indexed anew where it is imported', async () => {
    const [sqlite, postgres] = DURABLE;
    if (sqlite === undefined || postgres === undefined) throw new Error('expected two kinds of states');
    await using from = await sqlite.open();
    await using to = await postgres.open();
    const first = await start(from);
    const { storeId, fileId } = await fill(first);
    await first.client().vectorStores.files.poll(storeId, fileId, POLL);
    const output = new PassThrough();
    const written = text(output);
    const moved = await exportState(first.app.get(StateBackend), output);
    output.end();
    await first.close();
    expect(moved).toMatchObject({ files: 1, stores: 1 });
    const second = await start(to);
    const backend = second.app.get(StateBackend);
    expect(await importState(backend, [await written] as never)).toMatchObject({ stores: 1, existing: 0 });
    // Repeated, it changes nothing.
    expect(await importState(backend, [await written] as never)).toMatchObject({ stores: 1, existing: 2 });
    await second.close();
    await using third = await start(to);
    const { vectorStores } = third.client();
    expect(await vectorStores.retrieve(storeId)).toMatchObject({ name: 'Rules', metadata: { a: 'b' } });
    expect(await vectorStores.files.poll(storeId, fileId, POLL)).toMatchObject({ attributes: { year: 2026 } });
    expect((await vectorStores.search(storeId, { query: 'bees' })).data).toHaveLength(1);
  });

  it.each(DURABLE)('an export can be imported again into $state after what it has was deleted', async ({ open }) => {
    await using state = await open();
    await using service = await start(state);
    const { vectorStores } = service.client();
    const { storeId, fileId } = await fill(service);
    await vectorStores.files.poll(storeId, fileId, POLL);
    const output = new PassThrough();
    const written = text(output);
    await exportState(service.app.get(StateBackend), output);
    output.end();
    await vectorStores.delete(storeId);
    const imported = await importState(service.app.get(StateBackend), [await written] as never);
    expect(imported).toMatchObject({ stores: 1, existing: 1 });
    expect(await vectorStores.retrieve(storeId)).toMatchObject({ name: 'Rules', file_counts: { total: 1 } });
  });
});
