import type { Tenant } from '../../../access/index.js';
import {
  type ClaimedFile,
  NO_STORE_FILES,
  type StoreBatch,
  type StoreFile,
  type VectorStoreRecords,
} from '../../../state/index.js';
import { requireAlike, requireMatch } from '../assertions.js';
import { part } from '../part.js';
import { LEASE_MS, newTenant } from '../records.js';
import type { TestedState } from '../tested-state.js';
import { DONE, file, SECONDS, store } from './vector-stores.js';

/** Files that wait to be indexed are claimed by one at a time, by tenants in turn. */
export const STORE_FILE_CLAIMS = part('vectorStores', 'the files that wait', ({ share, it, afterEach }) => {
  let opened: TestedState;
  let stores: VectorStoreRecords;
  let tenant: Tenant;
  let other: Tenant;

  share(async (state, newcomer) => {
    if (state.backend.vectorStores === undefined) throw new Error('the backend has no VectorStoreRecords');
    [opened, stores, tenant, other] = [state, state.backend.vectorStores, newcomer, newTenant()];
    for (const each of [tenant, other]) await stores.create(each, store('s'), Infinity);
  });
  // A file that still waits would be claimed by the next case.
  afterEach(async () => {
    for (const each of [tenant, other]) await stores.delete(each, 's');
  });

  const add = (fileIds: readonly string[], parts: Partial<StoreFile> = {}, of = tenant): Promise<boolean> =>
    stores.add(
      of,
      's',
      fileIds.map((fileId) => file('s', fileId, parts)),
      null,
    );
  const claim = async (most = 10): Promise<readonly ClaimedFile[]> => {
    const now = opened.clock.now();
    return stores.claim(most, now, now + LEASE_MS);
  };
  const only = async (): Promise<ClaimedFile> => {
    const [first, ...others] = await claim();
    requireAlike(others, []);
    if (first === undefined) throw new Error('no file waits');
    return first;
  };
  const namesOf = (files: readonly ClaimedFile[]): readonly string[] => files.map(({ fileId }) => fileId);

  it('the files to index are each given to one claim, the first that was added first, until its time is over', async () => {
    await add(['g', 'f']);
    await add(['e']);
    await add(['done'], DONE);
    const [first, ...rest] = [...(await claim(1)), ...(await claim(5)), ...(await claim(5))];
    requireMatch(first, { tenant, storeId: 's', fileId: 'g', tries: 1, chunking: { size: 800, overlap: 400 } });
    requireAlike(namesOf(rest), ['f', 'e']);
    opened.clock.advance(LEASE_MS - 1);
    requireAlike(await claim(), []);
    requireAlike(first && (await stores.renew(first, opened.clock.now() + LEASE_MS)), true);
    opened.clock.advance(1);
    const again = await claim();
    requireAlike(
      again.map(({ fileId, tries }) => [fileId, tries]),
      [
        ['f', 2],
        ['e', 2],
      ],
    );
    requireAlike(
      again.every(({ attempt }, index) => attempt > (rest[index]?.attempt ?? Infinity)),
      true,
    );
  });

  it('the files to index are claimed of tenants in turn, however many one of them has', async () => {
    await add(['a1', 'a2', 'a3', 'a4']);
    const [first] = await claim(1);
    await add(['b1', 'b2'], {}, other);
    requireAlike([first?.fileId, ...namesOf(await claim(2))], ['a1', 'b1', 'a2']);
    const [one, another, ...none] = [...(await claim(1)), ...(await claim(1)), ...(await claim(1))];
    requireAlike(namesOf([one, another, ...none].filter((each) => each !== undefined)), ['b2', 'a3', 'a4']);
  });

  it('the files to index are let go with a pause that counts as no try', async () => {
    await add(['f']);
    const claimed = await only();
    const notBefore = opened.clock.now() + 5000;
    requireAlike(await stores.giveBack(claimed, notBefore), true);
    requireAlike(await stores.giveBack(claimed, notBefore), false);
    requireAlike([await stores.renew(claimed, notBefore), await stores.settle(claimed, DONE)], [false, false]);
    opened.clock.advance(4999);
    requireAlike(await claim(), []);
    opened.clock.advance(1);
    requireMatch(await only(), { fileId: 'f', tries: 1 });
  });

  it('files are not claimed of a store that is held back, and of other stores of its tenant and of others are', async () => {
    await stores.create(tenant, store('t'), Infinity);
    await add(['f', 'g']);
    await stores.add(tenant, 't', [file('t', 'f')], null);
    await add(['f'], {}, other);
    const now = opened.clock.now();
    const claimed = await stores.claim(10, now, now + LEASE_MS, [{ tenant, storeId: 's' }]);
    requireAlike(claimed.map((one) => [one.tenant === tenant, one.storeId]).toSorted(), [
      [false, 's'],
      [true, 't'],
    ]);
    requireAlike(namesOf(await claim()), ['f', 'g']);
    await stores.delete(tenant, 't');
  });

  it('files have room set aside while they are indexed, together no more than their tenant may have', async () => {
    await add(['f', 'g']);
    const [first, second] = await claim();
    if (first === undefined || second === undefined) throw new Error('no files wait');
    const both = await Promise.all([first, second].map((one) => stores.reserve(one, 60, 100)));
    requireAlike(both.toSorted(), ['full', 'reserved']);
    const [has, waits] = both[0] === 'reserved' ? [first, second] : [second, first];
    requireAlike((await stores.used(tenant)).bytes, 60);
    // In place of what it has.
    requireAlike([await stores.reserve(has, 70, 100), await stores.reserve(waits, 30, 100)], ['reserved', 'reserved']);
    await stores.describe(tenant, 's', has.fileId, { x: 1 });
    requireAlike((await stores.used(tenant)).bytes, 100);
    await stores.settle(has, { ...DONE, bytes: 40 });
    await stores.giveBack(waits, opened.clock.now());
    requireAlike((await stores.used(tenant)).bytes, 40);
    requireAlike(await stores.reserve(has, 1, 100), 'lost');
    requireAlike(await stores.reserve(await only(), 61, 100), 'full');
  });

  it('the files to index take an outcome from the last claim alone', async () => {
    await add(['f']);
    const first = await only();
    opened.clock.advance(LEASE_MS);
    const second = await only();
    requireAlike(second.tries, 2);
    const until = opened.clock.now() + LEASE_MS;
    requireAlike([await stores.renew(first, until), await stores.settle(first, DONE)], [false, false]);
    await stores.describe(tenant, 's', 'f', { kept: true });
    requireAlike(await stores.settle(second, DONE), true);
    requireMatch(await stores.file(tenant, 's', 'f'), { ...DONE, attributes: { kept: true } });
    requireAlike([await stores.settle(second, DONE), await claim()], [false, []]);
  });

  it('the files to index count their tries anew when they are added again, and take nothing from a claim of before', async () => {
    await add(['f']);
    const first = await only();
    await add(['f']);
    requireAlike([await stores.renew(first, opened.clock.now()), await stores.settle(first, DONE)], [false, false]);
    const second = await only();
    requireAlike([second.tries, second.attempt > first.attempt], [1, true]);
    requireAlike(await stores.settle(second, DONE), true);
    await add(['f']);
    await stores.detach(tenant, 's', 'f');
    await add(['f']);
    const third = await only();
    requireAlike([third.tries, third.attempt > second.attempt], [1, true]);
    for (const lost of [first, second]) requireAlike(await stores.settle(lost, DONE), false);
    const error = { code: 'invalid_file', message: 'No.' };
    requireAlike(await stores.settle(third, { status: 'failed', error, bytes: 0 }), true);
    requireMatch(await stores.file(tenant, 's', 'f'), { status: 'failed', error });
  });

  it('the files to index keep the bytes of what they were until they are settled or cancelled', async () => {
    await add(['f', 'g'], DONE);
    const batch: StoreBatch = { id: 'batch', storeId: 's', createdAt: SECONDS, isCancelled: false };
    await add(['f'], { bytes: 0 });
    await stores.add(tenant, 's', [file('s', 'g', { batchId: 'batch', bytes: 0 })], batch);
    requireAlike((await stores.used(tenant)).bytes, 14);
    requireMatch(await stores.file(tenant, 's', 'f'), { status: 'in_progress', bytes: 7 });
    const [claimed] = await claim(1);
    requireAlike(claimed && (await stores.settle(claimed, { ...DONE, bytes: 3 })), true);
    requireAlike((await stores.used(tenant)).bytes, 10);
    requireAlike(await stores.cancelBatch(tenant, 's', 'batch'), ['g']);
    requireAlike((await stores.used(tenant)).bytes, 3);
    // A file that was taken out of its store takes no bytes there.
    await stores.detach(tenant, 's', 'f');
    await add(['f'], { bytes: 0 });
    requireAlike((await stores.used(tenant)).bytes, 0);
  });

  it('the files to index take no outcome when they were taken out, replaced or cancelled, or their store is gone', async () => {
    const batch: StoreBatch = { id: 'batch', storeId: 's', createdAt: SECONDS, isCancelled: false };
    await add(['out', 'again']);
    await stores.add(tenant, 's', [file('s', 'cancelled', { batchId: 'batch' })], batch);
    await add(['f'], {}, other);
    const claimed = await claim();
    requireAlike(claimed.length, 4);
    await stores.detach(tenant, 's', 'out');
    await add(['again']);
    requireMatch(await only(), { fileId: 'again', tries: 1 });
    requireAlike(await stores.cancelBatch(tenant, 's', 'batch'), ['cancelled']);
    requireAlike(await stores.cancelBatch(tenant, 's', 'batch'), []);
    requireAlike(await stores.cancelBatch(tenant, 's', 'unknown'), undefined);
    await stores.delete(other, 's');
    for (const one of claimed) {
      const until = opened.clock.now() + LEASE_MS;
      requireAlike([await stores.renew(one, until), await stores.settle(one, DONE)], [false, false]);
      requireAlike(await stores.giveBack(one, 0), false);
    }
    requireMatch(await stores.file(tenant, 's', 'cancelled'), { status: 'cancelled' });
    requireMatch(await stores.batch(tenant, 's', 'batch'), { isCancelled: true });
    requireAlike(await stores.count(tenant, 's', 'batch'), { ...NO_STORE_FILES, cancelled: 1 });
    requireAlike(await claim(), []);
  });
});
