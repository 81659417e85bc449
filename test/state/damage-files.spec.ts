// Slow: starts a service twice for each of its tests.

import { describe, expect, it } from '@jest/globals';

import { ServiceLog } from '../support/service-log.js';
import { EVERY_STATE } from '../support/state-backends.js';
import { ask, damageIn, POLL, SECRET, send, type StoredText, upload, whenOver } from './damage.js';

const FILE: StoredText = { column: 'vector_store_files.about' };

/** The only chunk of a file. */
const CHUNK: StoredText = {
  column: 'vector_chunks.text',
  where: 'document = (SELECT document FROM vector_documents WHERE file_id = $1)',
  postgres: {
    column: 'vector_chunks.text',
    where: 'document = (SELECT document FROM antiphon.vector_documents WHERE file_id = $1)',
  },
};

/** The name of the only tenant. */
const TENANT: StoredText = { column: 'tenants.name', where: '$1 IS NOT NULL' };

// Redis leaves files to VECTOR_STORE_URL.
const WITH_FILES = EVERY_STATE.filter(({ state }) => state === 'sqlite' || state === 'postgres');

describe.each(WITH_FILES)('vector stores with damage in $state', (kind) => {
  const { start, filled, damage } = damageIn(kind);

  it('a file in a vector store that is damaged while it waits fails, and the one behind it is indexed', async () => {
    const [path, [first = '', second = '']] = await waiting();
    await damage(FILE, first, SECRET);
    const log = new ServiceLog();
    await using service = await start({ imports: [log.asModule()] });
    expect(await whenOver(service, `${path}/${second}`)).toMatchObject({ status: 'completed' });
    expect(await whenOver(service, `${path}/${first}`)).toMatchObject({
      ...{ status: 'failed', last_error: { code: 'server_error' } },
    });
    expect(log.complaints.filter((line) => line.includes('is damaged'))).toEqual([
      expect.stringContaining(`${first} was not indexed`),
    ]);
  });

  it('a file in a vector store that has a damaged chunk is named, and its text is not logged', async () => {
    const [path, id] = await filled(async (service) => {
      const { vectorStores } = service.client();
      const [store, file] = [await vectorStores.create({}), await upload(service)];
      await vectorStores.files.createAndPoll(store.id, { file_id: file }, POLL);
      return [`/vector_stores/${store.id}/files`, file] as const;
    });
    await damage(CHUNK, id, SECRET);
    const log = new ServiceLog();
    await using service = await start({ imports: [log.asModule()] });
    const read = await send(service, 'GET', `${path}/${id}/content`);
    expect(read).toMatchObject({ status: 500, body: { error: { code: 'server_error' } } });
    expect(JSON.stringify(read.body)).toContain(`What is stored of /v1${path}/${id} is damaged`);
    expect(log.text).not.toContain(SECRET);
  });

  if (kind.state === 'postgres') {
    it('a file in a vector store whose tenant is damaged while it waits is indexed, as is the one behind it', async () => {
      const [path, [first = '', second = '']] = await waiting();
      await damage({ column: 'vector_store_files.tenant' }, first, SECRET);
      await using service = await start();
      for (const id of [second, first]) {
        expect(await whenOver(service, `${path}/${id}`)).toMatchObject({ status: 'completed' });
      }
    });
  }

  if (kind.state === 'sqlite') {
    it('a tenant whose name is damaged is in the log of the service, which the thread of the file does not have', async () => {
      await waiting();
      await damage(TENANT, 'any', SECRET);
      const log = new ServiceLog();
      await using service = await start({ imports: [log.asModule()] });
      expect(await log.written(/^warn .*of vector stores is damaged/)).not.toContain(SECRET);
      expect(await ask(service)).toMatchObject({ status: 'completed' });
    });
  }

  /** Two files of a vector store that wait to be indexed; resolves with the path of their list and their ids. */
  async function waiting(): Promise<readonly [list: string, ids: readonly string[]]> {
    const found = await filled(async (service) => {
      const { vectorStores } = service.client();
      const { id } = await vectorStores.create({});
      const files = [await upload(service), await upload(service)];
      for (const file of files) await vectorStores.files.create(id, { file_id: file });
      return [`/vector_stores/${id}/files`, files] as const;
    });
    // Whatever became of them: they wait again.
    for (const id of found[1]) await damage({ column: 'vector_store_files.status' }, id, 'in_progress');
    return found;
  }
});
