import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';

import type { Tenant } from '../../../access/index.js';
import { FileQuotaError, type FileRecord, type FileStore, type UploadRecord } from '../../../state/index.js';
import { requireAlike, requireEntry, requireMatch } from '../assertions.js';
import { exported, imported } from '../moved-state.js';
import { openMemory } from '../open-memory.js';
import { part } from '../part.js';
import { newTenant } from '../records.js';
import type { TestedState } from '../tested-state.js';

const HOUR_MS = 3_600_000;
const PLENTY = { bytes: 1_000_000, files: 100 };

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Files are kept in pieces, as long as something needs them. */
export const FILES = part('files', 'files', ({ share, it, describe }) => {
  let opened: TestedState;
  let files: FileStore;
  let tenant: Tenant;

  share((state, newcomer) => {
    if (state.backend.files === undefined) throw new Error('the backend has no FileStore');
    [opened, files, tenant] = [state, state.backend.files, newcomer];
  });

  const now = (): number => opened.clock.now();

  async function write(draftId: string, ...pieces: readonly string[]): Promise<void> {
    for (const [position, text] of pieces.entries()) {
      const piece = { position, hash: digest(text), bytes: new TextEncoder().encode(text) };
      await files.append(tenant, draftId, piece, now() + HOUR_MS, PLENTY);
    }
  }

  function recordOf(id: string, bytes: number, parts: Partial<FileRecord> = {}): FileRecord {
    const createdAt = Math.floor(now() / 1000);
    const about = { filename: `${id}.txt`, purpose: 'user_data', mimeType: null, sha256: digest(id), expiresAt: null };
    return { id, createdAt, bytes, ...about, ...parts };
  }

  async function create(id: string, pieces: readonly string[], parts: Partial<FileRecord> = {}): Promise<FileRecord> {
    await write(id, ...pieces);
    const record = recordOf(id, pieces.join('').length, parts);
    await files.commit(tenant, record, PLENTY);
    return record;
  }

  async function read(id: string, of = tenant): Promise<readonly string[]> {
    const texts: string[] = [];
    for (;;) {
      const piece = await files.piece(of, id, texts.length);
      if (piece === undefined) return texts;
      texts.push(new TextDecoder().decode(piece));
    }
  }

  /** The ids of what has ended, of a tenant. */
  async function ended(of = tenant): Promise<readonly string[]> {
    return (await files.ended()).flatMap((file) => (file.tenant === of ? [file.id] : []));
  }

  async function purge(): Promise<void> {
    for (const id of await ended()) await files.release({ tenant, id });
    while (await files.purge());
  }

  it('files have the pieces of their draft, and nobody sees a draft', async () => {
    await write('a', 'one', 'two', 'one');
    requireAlike(await files.get(tenant, 'a'), undefined);
    requireAlike((await files.list(tenant, { limit: 10, order: 'asc' })).data, []);
    requireAlike(await files.delete(tenant, 'a'), false);
    requireAlike(await files.used(tenant), { bytes: 9, files: 0 });
    const record = recordOf('a', 9, { filename: 'half \uD800 a "name"\0', mimeType: 'text/plain' });
    await files.commit(tenant, record, PLENTY);
    requireAlike(await files.get(tenant, 'a'), record);
    requireAlike(await read('a'), ['one', 'two', 'one']);
    requireAlike(await files.used(tenant), { bytes: 9, files: 1 });
    // Pieces that belong to a file are no longer a draft.
    await files.discard(tenant, 'a');
    requireAlike(await read('a'), ['one', 'two', 'one']);
  });

  it('files may be empty', async () => {
    const record = await create('empty', []);
    requireAlike(await files.get(tenant, 'empty'), record);
    requireAlike(await read('empty'), []);
  });

  it('files are those of their tenant', async () => {
    await create('a', ['mine']);
    const other = newTenant();
    requireAlike(await files.get(other, 'a'), undefined);
    requireAlike(await read('a', other), []);
    requireAlike(await files.delete(other, 'a'), false);
    requireAlike((await files.list(other, { limit: 10, order: 'asc' })).data, []);
    requireAlike(await files.used(other), { bytes: 0, files: 0 });
    requireAlike(await read('a'), ['mine']);
  });

  it('files are not stored beyond the quota, also when they come at once', async () => {
    await create('a', ['12345']);
    await write('b', '12345');
    const commit = (id: string, quota: object): Promise<void> =>
      files.commit(tenant, recordOf(id, 5), { ...PLENTY, ...quota });
    await assert.rejects(commit('b', { bytes: 9 }), FileQuotaError);
    await assert.rejects(commit('b', { files: 1 }), FileQuotaError);
    await commit('b', { bytes: 10, files: 2 });
    const ids = ['c', 'd', 'e', 'f', 'g'];
    for (const id of ids) await write(id, '12345');
    const outcomes = await Promise.allSettled(ids.map((id) => commit(id, { files: 4 })));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
    requireAlike((await files.used(tenant)).files, 4);
  });

  it('files do not grow beyond the quota while they are written, also at once', async () => {
    await write('a', '12345');
    const quota = { ...PLENTY, bytes: 9 };
    const append = async (draftId: string, text: string): Promise<boolean> => {
      const piece = { position: 0, hash: digest(text), bytes: new TextEncoder().encode(text) };
      try {
        await files.append(tenant, draftId, piece, now() + HOUR_MS, quota);
        return true;
      } catch (error) {
        assert.ok(error instanceof FileQuotaError);
        await files.discard(tenant, draftId);
        return false;
      }
    };
    requireAlike(await append('b', '12345'), false);
    const outcomes = await Promise.all(['c', 'd', 'e', 'f', 'g'].map((id) => append(id, `12${id}`)));
    const fitting = outcomes.filter((isStored) => isStored).length;
    assert.ok(fitting <= 1);
    requireAlike(await files.used(tenant), { bytes: 5 + 3 * fitting, files: 0 });
    requireAlike(await append('h', fitting === 0 ? '1234' : '1'), true);
  });

  it('files share pieces, which go with the last that has them', async () => {
    await create('a', ['same', 'a']);
    await create('b', ['same', 'b']);
    requireAlike(await files.delete(tenant, 'a'), true);
    requireAlike(await files.get(tenant, 'a'), undefined);
    requireAlike(await read('a'), []);
    requireAlike(await files.delete(tenant, 'a'), false);
    await purge();
    requireAlike(await read('b'), ['same', 'b']);
    // A new one with the pieces of a deleted one has them.
    await create('c', ['a', 'same']);
    await files.delete(tenant, 'b');
    await purge();
    requireAlike(await read('c'), ['a', 'same']);
    requireAlike(await files.used(tenant), { bytes: 5, files: 1 });
  });

  it('files are written and deleted at once, and have what they should', async () => {
    const ids = Array.from({ length: 8 }, (_, index) => `f${index}`);
    await Promise.all(
      ids.map(async (id) => {
        await create(id, ['same', 'other', id]);
        if (id > 'f3') {
          await files.delete(tenant, id);
          await purge();
        }
      }),
    );
    for (const id of ids.slice(0, 4)) requireAlike(await read(id), ['same', 'other', id]);
  });

  it('files expire, as drafts do', async () => {
    await create('a', ['a'], { expiresAt: now() + 1000 });
    await write('draft', 'b');
    opened.clock.advance(1000);
    requireAlike(await files.get(tenant, 'a'), undefined);
    requireAlike(await read('a'), []);
    opened.clock.advance(HOUR_MS);
    await purge();
    requireAlike(await files.used(tenant), { bytes: 0, files: 0 });
    await assert.rejects(files.commit(tenant, recordOf('draft', 1), PLENTY));
  });

  it('files stay known after their end until they are released, behind others if they are postponed, and are a cursor then', async () => {
    // A name that some databases store as a digest.
    tenant = `${newTenant()}${'n'.repeat(300)}` as Tenant;
    await create('first', ['a'], { expiresAt: now() + 1000 });
    await create('second', ['b'], { expiresAt: now() + 2000 });
    await create('alive', ['c']);
    await write('draft', 'd');
    await files.discard(tenant, 'draft');
    requireAlike(await ended(), []);
    opened.clock.advance(3000);
    requireAlike(await ended(), ['first', 'second']);
    while (await files.purge());
    for (const id of ['first', 'alive', 'nobody']) await files.postpone({ tenant, id });
    requireAlike(await ended(), ['second', 'first']);
    await files.release({ tenant, id: 'first' });
    await files.release({ tenant, id: 'alive' });
    await files.release({ tenant, id: 'nobody' });
    requireAlike(await ended(), ['second']);
    requireAlike(await read('alive'), ['c']);
    await purge();
    requireAlike(await ended(), []);
    const { data } = await files.list(tenant, { limit: 10, order: 'asc', after: 'second' });
    requireAlike(data, []);
    // Not every database can tell the name later.
    await files.delete(tenant, 'alive');
    opened.clock.advance(2 * HOUR_MS);
    await purge();
    await assert.rejects(files.list(tenant, { limit: 10, order: 'asc', after: 'second' }), {
      name: 'UnknownCursorError',
    });
  });

  it('files are listed in pages, in both directions and by purpose, also behind one that was just deleted', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    for (const id of ids) {
      await create(id, [id], { purpose: id < 'c' ? 'vision' : 'user_data' });
      if (id === 'b') opened.clock.advance(5000);
    }
    const page = async (query: object): Promise<readonly [string, boolean]> => {
      const { data, hasMore } = await files.list(tenant, { limit: 2, order: 'asc', ...query });
      return [data.map(({ id }) => id).join(''), hasMore];
    };
    requireAlike(await page({}), ['ab', true]);
    requireAlike(await page({ after: 'b' }), ['cd', true]);
    requireAlike(await page({ after: 'd' }), ['e', false]);
    requireAlike(await page({ order: 'desc', after: 'd' }), ['cb', true]);
    requireAlike(await page({ purpose: 'vision' }), ['ab', false]);
    for (const purpose of ['\0', '\ud800', 'x'.repeat(10_000)]) requireAlike(await page({ purpose }), ['', false]);
    await files.delete(tenant, 'b');
    await purge();
    requireAlike(await page({ after: 'b' }), ['cd', true]);
    await assert.rejects(page({ after: 'nobody' }), { name: 'UnknownCursorError' });
  });

  it('files are moved with a state, and again without effect', async () => {
    await create('a', ['one', 'two']);
    await create('b', [], { filename: 'leer.txt', expiresAt: now() + HOUR_MS });
    const text = await exported(opened.backend, { tenants: [tenant] });
    const target = await openMemory();
    const moved = target.backend.files;
    assert.ok(moved !== undefined);
    target.clock.advance(now() - target.clock.now());
    requireMatch(await imported(target.backend, text), { files: 2, existing: 0 });
    requireMatch(await imported(target.backend, text), { files: 2, existing: 2 });
    for (const id of ['a', 'b']) requireAlike(await moved.get(tenant, id), await files.get(tenant, id));
    // The other backend cuts contents in pieces of its own length.
    requireAlike(new TextDecoder().decode(await moved.piece(tenant, 'a', 0)), 'onetwo');
    await target.close();
    requireEntry(await files.tenants(), tenant);
  });

  describe('that are uploaded in parts', () => {
    const upload = (id: string, parts: Partial<UploadRecord> = {}): UploadRecord => ({
      ...{ id, createdAt: Math.floor(now() / 1000), bytes: 6, filename: 'a.txt', purpose: 'user_data' },
      ...{ mimeType: 'text/plain', expiresAt: now() + HOUR_MS, fileTtl: null, status: 'pending', file: null },
      ...parts,
    });

    async function addPart(uploadId: string, partId: string, ...pieces: readonly string[]): Promise<boolean> {
      await write(partId, ...pieces);
      return files.addPart(tenant, uploadId, partId);
    }

    it('files have the parts in the order that is asked for', async () => {
      const begun = upload('u');
      await files.createUpload(tenant, begun, PLENTY);
      requireAlike(await files.upload(tenant, 'u'), begun);
      requireAlike(await files.upload(newTenant(), 'u'), undefined);
      requireAlike(await addPart('u', 'first', 'ab', 'c'), true);
      requireAlike(await addPart('u', 'left out', 'x'), true);
      requireAlike(await addPart('u', 'second', 'def'), true);
      requireAlike([...(await files.parts(tenant, 'u'))].sort(), [
        ['first', 3],
        ['left out', 1],
        ['second', 3],
      ]);
      const record = recordOf('joined', 6);
      const complete = (ids: readonly string[], quota = PLENTY): Promise<boolean> =>
        files.complete(tenant, 'u', ids, record, quota);
      requireAlike(await complete(['second', 'nobody']), false);
      requireAlike(await complete(['second']), false);
      await assert.rejects(complete(['second', 'first'], { bytes: 5, files: 1 }), FileQuotaError);
      requireAlike(await complete(['second', 'first']), true);
      requireAlike(await read('joined'), ['def', 'ab', 'c']);
      requireAlike(await files.get(tenant, 'joined'), record);
      requireAlike(await files.upload(tenant, 'u'), { ...begun, status: 'completed', file: record });
      requireAlike(await complete(['second', 'first']), false);
      await purge();
      requireAlike(await read('joined'), ['def', 'ab', 'c']);
      requireAlike(await files.used(tenant), { bytes: 6, files: 1 });
    });

    it('files that are uploaded in parts count as files until they have ended', async () => {
      const create = (id: string, quota: object): Promise<void> =>
        files.createUpload(tenant, upload(id, { filename: '"status":"pending"' }), { ...PLENTY, ...quota });
      const isFull = { name: 'FileQuotaError' };
      await assert.rejects(create('u', { bytes: 5 }), isFull);
      requireAlike(await files.upload(tenant, 'u'), undefined);
      const outcomes = await Promise.allSettled(['u1', 'u2', 'u3', 'u4'].map((id) => create(id, { files: 2 })));
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
      requireAlike(await files.used(tenant), { bytes: 0, files: 2 });
      await assert.rejects(files.commit(tenant, recordOf('a', 0), { ...PLENTY, files: 2 }), isFull);
      for (const id of ['u1', 'u2', 'u3', 'u4']) await files.cancel(tenant, id);
      requireAlike(await files.used(tenant), { bytes: 0, files: 0 });
      await create('v', { files: 1 });
      await addPart('v', 'part', 'abcdef');
      requireAlike(await files.complete(tenant, 'v', ['part'], recordOf('joined', 6), { ...PLENTY, files: 1 }), true);
      requireAlike(await files.used(tenant), { bytes: 6, files: 1 });
      await create('w', {});
      opened.clock.advance(HOUR_MS);
      requireAlike(await files.used(tenant), { bytes: 6, files: 1 });
    });

    it('files that are uploaded in parts take no more parts once they were cancelled, or have expired', async () => {
      await files.createUpload(tenant, upload('u'), PLENTY);
      await addPart('u', 'part', 'abc');
      requireAlike(await files.cancel(tenant, 'u'), true);
      requireAlike(await files.cancel(tenant, 'u'), false);
      requireAlike((await files.upload(tenant, 'u'))?.status, 'cancelled');
      requireAlike(await addPart('u', 'late', 'abc'), false);
      await files.createUpload(tenant, upload('v'), PLENTY);
      await addPart('v', 'other part', 'abc');
      opened.clock.advance(HOUR_MS);
      requireAlike(await files.upload(tenant, 'v'), undefined);
      requireAlike(await addPart('v', 'later', 'abc'), false);
      opened.clock.advance(HOUR_MS);
      await purge();
      requireAlike(await files.used(tenant), { bytes: 0, files: 0 });
    });
  });
});
