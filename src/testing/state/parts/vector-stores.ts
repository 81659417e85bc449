import type { Tenant } from '../../../access/index.js';
import {
  BOOKMARK_MS,
  NO_STORE_FILES,
  type StoreBatch,
  type StoreFile,
  type VectorIndex,
  type VectorStoreRecord,
  type VectorStoreRecords,
} from '../../../state/index.js';
import { requireAlike, requireMatch, requireRejection } from '../assertions.js';
import { part } from '../part.js';
import { newTenant, START } from '../records.js';
import type { TestedState } from '../tested-state.js';

/** When the clocks of the suite start, Unix seconds. */
export const SECONDS = START / 1000;

/** A vector store; what a test does not say is made up. */
export function store(id: string, parts: Partial<VectorStoreRecord> = {}): VectorStoreRecord {
  return {
    ...{ id, createdAt: SECONDS, name: null, description: null, metadata: {}, expiresAfterDays: null },
    ...{ lastActiveAt: SECONDS, embeddingModel: 'm', ...parts },
  };
}

/** A file in a vector store, which waits unless a test says otherwise. */
export function file(storeId: string, fileId: string, parts: Partial<StoreFile> = {}): StoreFile {
  return {
    ...{
      storeId,
      fileId,
      createdAt: SECONDS,
      batchId: null,
      keyId: null,
      attributes: {},
      chunking: { size: 800, overlap: 400 },
    },
    ...{ status: 'in_progress', error: null, bytes: 0, ...parts },
  };
}

/** A good end. */
export const DONE = { status: 'completed', error: null, bytes: 7 } as const;

/** Vector stores and the files in them. */
export const VECTOR_STORES = part('vectorStores', 'vector stores', ({ share, it, afterEach }) => {
  let opened: TestedState;
  let stores: VectorStoreRecords;
  let vectors: VectorIndex;
  let tenant: Tenant;

  share((state, newcomer) => {
    const { vectorStores, vectors: index } = state.backend;
    if (vectorStores === undefined || index === undefined) throw new Error('the backend has no VectorStoreRecords');
    [opened, stores, vectors, tenant] = [state, vectorStores, index, newcomer];
  });
  // A file that still waits would be claimed by the next case.
  afterEach(async () => {
    const { data } = await stores.list(tenant, { limit: 100, order: 'asc' });
    for (const { id } of data) await stores.delete(tenant, id);
  });

  const create = (id: string, parts: Partial<VectorStoreRecord> = {}): Promise<boolean> =>
    stores.create(tenant, store(id, parts), Infinity);
  /** Has a document of one chunk found. */
  const index = async (storeId: string, fileId: string): Promise<void> => {
    await vectors.append(tenant, storeId, fileId, [{ position: 0, text: 'word', vector: Float32Array.of(1) }]);
    await vectors.publish(tenant, storeId, fileId, { attributes: {}, count: 1 });
  };
  const found = async (...storeIds: readonly string[]): Promise<readonly string[]> =>
    (await vectors.documents(tenant, storeIds)).map(({ storeId, fileId }) => `${storeId}/${fileId}`);
  const listed = async (page: object = {}): Promise<readonly string[]> =>
    (await stores.list(tenant, { limit: 10, order: 'asc', ...page })).data.map(({ id }) => id);
  const filed = async (storeId: string, page: object = {}): Promise<readonly string[]> =>
    (await stores.files(tenant, storeId, { limit: 10, order: 'asc', ...page })).data.map(({ fileId }) => fileId);

  it('vector stores keep what they are told, and change what they are asked to', async () => {
    const odd = store('s\0é"', { name: '\uD800', metadata: { a: '漢' }, description: "'; DROP" });
    await stores.create(tenant, odd, Infinity);
    requireAlike(await stores.get(tenant, odd.id), odd);
    const changed = { ...odd, name: 'New', expiresAfterDays: 3, lastActiveAt: SECONDS + 9 };
    const change = { name: 'New', expiresAfterDays: 3, lastActiveAt: SECONDS + 9 };
    requireAlike(await stores.change(tenant, odd.id, change), changed);
    requireAlike(await stores.get(tenant, odd.id), changed);
    requireAlike(await stores.change(tenant, 'unknown', {}), undefined);
    requireAlike(await stores.get(tenant, 'unknown'), undefined);
  });

  it('vector stores are listed in both directions from cursors that may have been deleted a while ago', async () => {
    for (const [index, id] of ['b', 'a', 'd', 'c'].entries()) {
      await create(id, { createdAt: SECONDS + Math.floor(index / 2) });
    }
    requireAlike(await listed(), ['a', 'b', 'c', 'd']);
    requireAlike(await listed({ order: 'desc', limit: 2 }), ['d', 'c']);
    requireAlike(await listed({ after: 'a', limit: 2 }), ['b', 'c']);
    requireAlike(await listed({ before: 'd', limit: 2 }), ['b', 'c']);
    requireAlike(await listed({ order: 'desc', before: 'a' }), ['d', 'c', 'b']);
    requireAlike((await stores.list(tenant, { limit: 3, order: 'asc' })).hasMore, true);
    requireAlike((await stores.list(tenant, { limit: 4, order: 'asc' })).hasMore, false);
    requireAlike(await stores.delete(tenant, 'b'), true);
    requireAlike(await stores.delete(tenant, 'b'), false);
    requireAlike(await listed({ after: 'b' }), ['c', 'd']);
    await requireRejection(listed({ after: 'unknown' }), 'no such cursor');
    opened.clock.advance(BOOKMARK_MS);
    while (await stores.purge());
    await requireRejection(listed({ after: 'b' }), 'no such cursor');
  });

  it('vector stores have files of one status or one batch, with their counts', async () => {
    await create('s');
    const batch: StoreBatch = { id: 'batch', storeId: 's', createdAt: SECONDS, isCancelled: false };
    const [f, g] = [file('s', 'f', { attributes: { year: 1 } }), file('s', 'g', { batchId: 'batch' })];
    requireAlike(await stores.add(tenant, 's', [f], null), true);
    const later = file('s', 'h', { batchId: 'batch', createdAt: SECONDS + 1, ...DONE });
    requireAlike(await stores.add(tenant, 's', [later, g], batch), true);
    requireAlike(await stores.add(tenant, 'unknown', [file('unknown', 'f')], null), false);
    requireAlike(await stores.file(tenant, 's', 'f'), f);
    requireAlike(await stores.file(tenant, 's', 'unknown'), undefined);
    requireAlike(await filed('s'), ['f', 'g', 'h']);
    requireAlike(await filed('s', { batchId: 'batch' }), ['g', 'h']);
    requireAlike(await filed('s', { status: 'completed' }), ['h']);
    requireAlike(await filed('s', { status: 'in_progress', after: 'f' }), ['g']);
    // A cursor need not be of the status.
    requireAlike(await filed('s', { status: 'in_progress', before: 'h', order: 'asc' }), ['f', 'g']);
    await requireRejection(filed('s', { after: 'unknown' }), 'no such cursor');
    requireAlike(await stores.count(tenant, 's'), { ...NO_STORE_FILES, in_progress: 2, completed: 1, bytes: 7 });
    requireAlike(await stores.count(tenant, 's', 'batch'), {
      ...{ ...NO_STORE_FILES, in_progress: 1, completed: 1, bytes: 7 },
    });
    requireAlike(await stores.batch(tenant, 's', 'batch'), batch);
    requireAlike(await stores.batch(tenant, 's', 'unknown'), undefined);
    requireMatch(await stores.describe(tenant, 's', 'f', { year: 2 }), { attributes: { year: 2 } });
    requireMatch(await stores.file(tenant, 's', 'f'), { attributes: { year: 2 } });
    requireAlike(await stores.describe(tenant, 's', 'unknown', {}), undefined);
  });

  it('vector stores count what a tenant has', async () => {
    requireAlike(await stores.used(tenant), { stores: 0, bytes: 0 });
    for (const id of ['s', 't', 'u']) await create(id);
    await stores.create(newTenant(), store('s'), Infinity);
    await stores.add(tenant, 's', [file('s', 'f', DONE), file('s', 'g', DONE), file('s', 'h')], null);
    await stores.add(tenant, 't', [file('t', 'f', DONE)], null);
    await stores.add(tenant, 'u', [file('u', 'f', DONE)], null);
    requireAlike(await stores.used(tenant), { stores: 3, bytes: 28 });
    await stores.detach(tenant, 's', 'g');
    await stores.delete(tenant, 'u');
    requireAlike(await stores.used(tenant), { stores: 2, bytes: 14 });
  });

  it('vector stores let go of files, which are cursors for a while', async () => {
    for (const id of ['s', 't']) {
      await create(id);
      await stores.add(tenant, id, [file(id, 'f'), file(id, 'g'), file(id, 'h')], null);
    }
    requireAlike((await stores.storesOf(tenant, 'g')).toSorted(), ['s', 't']);
    requireAlike(await stores.detach(tenant, 's', 'g'), true);
    requireAlike(await stores.detach(tenant, 's', 'g'), false);
    requireAlike(await stores.storesOf(tenant, 'g'), ['t']);
    requireAlike(await stores.file(tenant, 's', 'g'), undefined);
    requireAlike(await filed('s', { after: 'g' }), ['h']);
    requireAlike((await stores.count(tenant, 's')).in_progress, 2);
    await stores.delete(tenant, 't');
    requireAlike([await stores.storesOf(tenant, 'f'), await filed('t')], [['s'], []]);
    // A file that was taken out can be added again.
    await stores.add(tenant, 's', [file('s', 'g')], null);
    requireAlike(await filed('s'), ['f', 'g', 'h']);
  });

  it('vector stores show nothing to other tenants', async () => {
    const other = newTenant();
    await create('s');
    const batch: StoreBatch = { id: 'batch', storeId: 's', createdAt: SECONDS, isCancelled: false };
    await stores.add(tenant, 's', [file('s', 'f', { batchId: 'batch' })], batch);
    requireAlike(await stores.get(other, 's'), undefined);
    requireAlike(await stores.change(other, 's', { name: 'x' }), undefined);
    requireAlike(await stores.delete(other, 's'), false);
    requireAlike(await stores.add(other, 's', [file('s', 'g')], null), false);
    requireAlike(await stores.file(other, 's', 'f'), undefined);
    requireAlike(await stores.describe(other, 's', 'f', {}), undefined);
    requireAlike(await stores.detach(other, 's', 'f'), false);
    requireAlike(await stores.storesOf(other, 'f'), []);
    requireAlike(await stores.batch(other, 's', 'batch'), undefined);
    requireAlike(await stores.cancelBatch(other, 's', 'batch'), undefined);
    requireAlike(await stores.count(other, 's'), NO_STORE_FILES);
    const page = { limit: 10, order: 'asc' } as const;
    requireAlike(await stores.list(other, page), { data: [], hasMore: false });
    requireAlike(await stores.files(other, 's', page), { data: [], hasMore: false });
    requireAlike((await stores.tenants()).includes(tenant), true);
    requireAlike((await stores.tenants()).includes(other), false);
  });

  it('vector stores are not created beyond the most that a tenant may have, also at the same moment', async () => {
    const made = await Promise.all(['a', 'b', 'c'].map((id) => stores.create(tenant, store(id), 2)));
    requireAlike(made.toSorted(), [false, true, true]);
    requireAlike((await stores.used(tenant)).stores, 2);
    requireAlike(await stores.create(newTenant(), store('a'), 1), true);
  });

  it('vector stores are created again under the id of one that was deleted, without what that one had', async () => {
    await create('s');
    await stores.add(tenant, 's', [file('s', 'f', DONE)], null);
    await index('s', 'f');
    await stores.delete(tenant, 's');
    requireAlike(await stores.create(tenant, store('s', { name: 'Again' }), 1), true);
    requireMatch(await stores.get(tenant, 's'), { name: 'Again' });
    requireAlike([await filed('s'), await found('s')], [[], []]);
  });

  it('vector stores do not change once they have expired', async () => {
    await create('s', { expiresAfterDays: 1 });
    opened.clock.advance(86_400_000);
    const lastActiveAt = opened.clock.nowInSeconds();
    requireAlike(await stores.change(tenant, 's', { lastActiveAt }), undefined);
    requireAlike(await stores.add(tenant, 's', [file('s', 'f')], null), false);
    requireMatch(await stores.get(tenant, 's'), { lastActiveAt: SECONDS });
  });

  it('vector stores forget the documents of files and stores in the moment in which these are deleted, cancelled or fail', async () => {
    await create('s');
    await create('gone');
    const batch: StoreBatch = { id: 'batch', storeId: 's', createdAt: SECONDS, isCancelled: false };
    await stores.add(
      tenant,
      's',
      ['kept', 'out'].map((fileId) => file('s', fileId, DONE)),
      null,
    );
    await stores.add(tenant, 's', [file('s', 'failed', { createdAt: SECONDS - 1 })], null);
    await stores.add(tenant, 's', [file('s', 'cancelled', { batchId: 'batch' })], batch);
    await stores.add(tenant, 'gone', [file('gone', 'f', DONE)], null);
    for (const fileId of ['kept', 'out', 'failed', 'cancelled']) await index('s', fileId);
    await index('gone', 'f');
    const now = opened.clock.now();
    const [claimed] = await stores.claim(1, now, now + 1000);
    requireMatch(claimed, { fileId: 'failed' });
    const error = { code: 'invalid_file', message: 'No.' };
    if (claimed !== undefined) await stores.settle(claimed, { status: 'failed', error, bytes: 0 });
    requireAlike(await found('s', 'gone'), ['s/kept', 's/out', 's/cancelled', 'gone/f']);
    await stores.cancelBatch(tenant, 's', 'batch');
    requireAlike(await found('s', 'gone'), ['s/kept', 's/out', 'gone/f']);
    await stores.detach(tenant, 's', 'out');
    await stores.delete(tenant, 'gone');
    requireAlike(await found('s', 'gone'), ['s/kept']);
  });

  it('vector stores are purged of the documents of deleted files and stores, and of the files of stores that have expired', async () => {
    const createdAt = opened.clock.nowInSeconds();
    await create('s', { expiresAfterDays: 1, lastActiveAt: createdAt });
    for (const id of ['t', 'gone']) await create(id);
    for (const [storeId, fileId] of [
      ['s', 'f'],
      ['t', 'f'],
      ['t', 'gone'],
      ['gone', 'f'],
    ] as const) {
      await stores.add(tenant, storeId, [file(storeId, fileId, DONE)], null);
      await index(storeId, fileId);
    }
    await stores.detach(tenant, 't', 'gone');
    await stores.delete(tenant, 'gone');
    // Written by who does not know it yet.
    await index('t', 'gone');
    await index('gone', 'f');
    while (await stores.purge());
    requireAlike(await found('s', 't', 'gone'), ['s/f', 't/f']);
    opened.clock.advance(86_400_000);
    while (await stores.purge());
    requireAlike(await found('s', 't', 'gone'), ['t/f']);
    requireMatch(await stores.get(tenant, 's'), { id: 's' });
    requireAlike(await stores.count(tenant, 's'), NO_STORE_FILES);
  });

  it('vector stores are purged of the documents of files that were cancelled or have failed', async () => {
    await create('s');
    const batch: StoreBatch = { id: 'batch', storeId: 's', createdAt: SECONDS, isCancelled: false };
    await stores.add(tenant, 's', [file('s', 'failed', { status: 'failed' }), file('s', 'kept', DONE)], null);
    await stores.add(tenant, 's', [file('s', 'cancelled', { batchId: 'batch' })], batch);
    await stores.cancelBatch(tenant, 's', 'batch');
    // Written by who does not know it yet.
    for (const fileId of ['cancelled', 'failed', 'kept']) await index('s', fileId);
    while (await stores.purge());
    requireAlike(await found('s'), ['s/kept']);
  });

  it('vector stores are purged of batches that have no files any more, an hour after they were made', async () => {
    await create('s');
    const createdAt = opened.clock.nowInSeconds();
    const batch = (id: string): StoreBatch => ({ id, storeId: 's', createdAt, isCancelled: false });
    for (const id of ['kept', 'left', 'moved']) {
      await stores.add(tenant, 's', [file('s', id, { batchId: id })], batch(id));
    }
    await stores.detach(tenant, 's', 'left');
    await stores.add(tenant, 's', [file('s', 'moved', { batchId: 'last' })], batch('last'));
    const known = async (): Promise<readonly string[]> => {
      const batches = ['kept', 'left', 'moved', 'last'].map((id) => stores.batch(tenant, 's', id));
      return (await Promise.all(batches)).flatMap((each) => each?.id ?? []);
    };
    while (await stores.purge());
    requireAlike(await known(), ['kept', 'left', 'moved', 'last']);
    opened.clock.advance(BOOKMARK_MS);
    while (await stores.purge());
    requireAlike(await known(), ['kept', 'last']);
  });
});
