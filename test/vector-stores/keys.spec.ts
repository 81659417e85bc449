import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { toFile } from 'openai';

import { simulateEmbeddings } from '../../src/simulator/simulated-embeddings.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { KeysFile, sha256 } from '../access/keys.js';
import { call, say } from '../support/scripted-calls.js';
import { itemsOf } from '../support/output.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { resultsOf } from '../support/usage.js';

const MODEL = 'text-embedding-3-small';
const POLL = { pollIntervalMs: 5 };

let keys: KeysFile;
const service = useService(async () => {
  const entry = (id: string, more: object = {}): object => ({
    ...{ id, tenant: 'red', secrets: [{ sha256: sha256(id) }] },
    ...more,
  });
  keys = await KeysFile.with([entry('full'), entry('limited', { models: ['m'] })]);
  return startService({ providers: [ScriptedProvider], environment: { KEYS_FILE: keys.path } });
});

const ids = { store: '', file: '' };

beforeAll(async () => {
  service.provider.embed = async (request) => simulateEmbeddings(request);
  const { vectorStores, files } = service.client({ apiKey: 'full' });
  ids.store = (await vectorStores.create({})).id;
  const file = await files.create({ file: await toFile(Buffer.from('Bees dance.'), 'a.txt'), purpose: 'assistants' });
  ids.file = file.id;
  await vectorStores.files.createAndPoll(ids.store, { file_id: ids.file }, POLL);
});

afterAll(() => keys[Symbol.asyncDispose]());

describe('a key that may not use the embedding model', () => {
  it('a key that may not use the embedding model adds nothing to vector stores and searches none', async () => {
    const { vectorStores } = service.client({ apiKey: 'limited' });
    const { store, file } = ids;
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => vectorStores.create({}),
      () => vectorStores.files.create(store, { file_id: file }),
      () => vectorStores.fileBatches.create(store, { file_ids: [file] }),
      () => vectorStores.search(store, { query: 'bees' }),
    ];
    for (const attempt of attempts) {
      await expect(attempt()).rejects.toMatchObject({ status: 403, code: 'model_not_allowed' });
    }
    expect(await vectorStores.retrieve(store)).toMatchObject({ file_counts: { completed: 1, total: 1 } });
  });

  it('the file searches of a key that may not use the embedding model fail, and its models are told why', async () => {
    service.provider.reply(...call('file_search', { queries: ['bees'] })).reply(...say('x'));
    const response = await service.client({ apiKey: 'limited' }).responses.create({
      ...{ model: 'm', input: 'Bees?', tools: [{ type: 'file_search', vector_store_ids: [ids.store] }] },
    });
    expect(itemsOf(response as never, 'file_search_call')).toMatchObject([{ status: 'failed' }]);
    const output = service.provider.turns.at(-1)?.context.findLast(({ type }) => type === 'function_call_output');
    expect(String(output?.['output'])).toContain(`does not have access to the model '${MODEL}'`);
  });
});

describe('the usage of a key', () => {
  it('the usage of a key has the vectors of the files that it has added, and of its searches', async () => {
    await service.client({ apiKey: 'full' }).vectorStores.search(ids.store, { query: 'bees' });
    const used = await resultsOf(service, 3, '?group_by[]=key_id&group_by[]=model', 'full');
    expect(used).toContainEqual(expect.objectContaining({ key_id: 'full', model: MODEL, turns: 2 }));
  });
});
