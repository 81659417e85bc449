import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { type FileRecord, type FileStore, type ObjectRecords, toHash } from '../../src/state/index.js';
import { type Bucket, toBucketFileStore } from '../../src/state/s3/index.js';
import { newTenant } from '../../src/testing/state/records.js';
import { BUCKETS, type OpenedBucket } from './bucket-fixture.js';

const HOUR_MS = 3_600_000;
const PLENTY = { bytes: 1_000_000, files: 100 };

/** What a process does to the database and the bucket; it dies before or after one of these. */
const STEPS = [
  'objects.appendKnown',
  'bucket.has',
  'objects.plan',
  'bucket.put',
  'objects.append',
  'records.commit',
  'records.delete',
  'records.release',
  'records.purge',
  'objects.due',
  'bucket.delete',
  'objects.forget',
] as const;

/** What it does where the bucket has lost an object. */
const REPAIR = ['bucket.has', 'objects.plan', 'bucket.put', 'objects.replace'] as const;

type Step = (typeof STEPS | typeof REPAIR)[number];

/** What a dead process does. */
const nothing = new Promise<never>(() => undefined);

describe.each(BUCKETS)('$name', ({ open }) => {
  let opened: OpenedBucket;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await open();
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterEach(async () => {
    const { files, s3 } = opened;
    s3.misbehave = () => undefined;
    const { data } = await files.list(tenant, { limit: 100, order: 'asc' });
    for (const { id } of data) await files.delete(tenant, id);
    await sweep();
    const left = s3.objects.size;
    s3.objects.clear();
    expect(left).toBe(0);
  });
  afterAll(() => opened.close());

  /** The store of a process that dies at a step, and when it has. */
  function mortal(step: Step, when: 'before' | 'after'): { store: FileStore; died: Promise<void> } {
    const { promise: died, resolve } = Promise.withResolvers<undefined>();
    let isDead = false;
    const watch = <T extends object>(target: T, name: string): T =>
      new Proxy(target, {
        get: (_, property) => {
          const value: unknown = Reflect.get(target, property, target);
          if (typeof value !== 'function') return value;
          return (...values: unknown[]): unknown => {
            const call = (): unknown => (value as (...values: unknown[]) => unknown).apply(target, values);
            if (isDead) return nothing;
            if (`${name}.${String(property)}` !== step) return call();
            isDead = true;
            if (when === 'before') resolve(undefined);
            else void (call() as Promise<unknown>).then(() => resolve(undefined));
            return nothing;
          };
        },
      });
    const { files, records, bucket, clock } = opened;
    const parts = [watch(records, 'records'), watch<ObjectRecords>(files.objects, 'objects')] as const;
    return { store: toBucketFileStore(...parts, watch<Bucket>(bucket, 'bucket'), clock), died };
  }

  async function write(store: FileStore, id: string, ...texts: readonly string[]): Promise<void> {
    const { clock } = opened;
    for (const [position, text] of texts.entries()) {
      const bytes = Buffer.from(text);
      await store.append(tenant, id, { position, hash: toHash(bytes), bytes }, clock.now() + HOUR_MS, PLENTY);
    }
    const about = { filename: 'a', purpose: 'user_data', mimeType: null, sha256: '', expiresAt: null };
    const record: FileRecord = { id, createdAt: 1, bytes: texts.join('').length, ...about };
    await store.commit(tenant, record, PLENTY);
  }

  async function remove(store: FileStore, id: string): Promise<void> {
    await store.delete(tenant, id);
    await store.release({ tenant, id });
    while (await store.purge());
    while (await store.sweep?.());
  }

  async function read(id: string): Promise<readonly string[]> {
    const texts: string[] = [];
    for (;;) {
      const piece = await opened.files.piece(tenant, id, texts.length);
      if (piece === undefined) return texts;
      texts.push(Buffer.from(piece).toString());
    }
  }

  /** What another process does later. */
  async function sweep(): Promise<void> {
    const { files, clock } = opened;
    clock.advance(2 * HOUR_MS);
    for (const file of await files.ended()) await files.release(file);
    while (await files.purge());
    while (await files.sweep());
  }

  const inBucket = (): readonly string[] => [...opened.s3.objects.values()].map(String).sort();

  describe.each(STEPS)('a process that dies at %s', (step) => {
    it.each(['before', 'after'] as const)(
      'a process that dies leaves no object behind, and no file without one: %s it',
      async (when) => {
        const { files } = opened;
        await write(files, 'kept', 'shared', 'kept');
        const { store, died } = mortal(step, when);
        void (async () => {
          await write(store, 'new', 'shared', 'new');
          await remove(store, 'new');
        })();
        await died;
        await sweep();
        const isThere = (await files.get(tenant, 'new')) !== undefined;
        expect(await read('kept')).toEqual(['shared', 'kept']);
        expect(await read('new')).toEqual(isThere ? ['shared', 'new'] : []);
        expect(inBucket()).toEqual(isThere ? ['kept', 'new', 'shared'] : ['kept', 'shared']);
      },
    );
  });

  describe.each(REPAIR)('a process that dies at %s of a lost object', (step) => {
    it.each(['before', 'after'] as const)(
      'a process that dies while it writes a lost object anew leaves its file as it was, or repaired: %s it',
      async (when) => {
        const { files, s3 } = opened;
        await write(files, 'kept', 'lost');
        s3.objects.clear();
        const { store, died } = mortal(step, when);
        void write(store, 'new', 'lost');
        await died;
        await sweep();
        const isRepaired = step === 'objects.replace' && when === 'after';
        expect(inBucket()).toEqual(isRepaired ? ['lost'] : []);
        await write(files, 'again', 'lost');
        await sweep();
        expect([await read('kept'), await read('again'), inBucket()]).toEqual([['lost'], ['lost'], ['lost']]);
      },
    );
  });

  it('equal files that are written at once after their object was lost share one that is new', async () => {
    const { files, s3 } = opened;
    await write(files, 'old', 'same');
    s3.objects.clear();
    const ids = Array.from({ length: 8 }, (_, index) => `f${index}`);
    await Promise.all(ids.map((id) => write(files, id, 'same')));
    await sweep();
    for (const id of ['old', ...ids]) expect(await read(id)).toEqual(['same']);
    expect(inBucket()).toEqual(['same']);
  });

  it('an object whose deletion may have begun does not replace a lost one', async () => {
    const { files, s3, clock } = opened;
    await write(files, 'a', 'content');
    const [lost = ''] = s3.objects.keys();
    await files.objects.plan('late', clock.now() + HOUR_MS);
    clock.advance(HOUR_MS);
    await files.objects.due();
    await expect(files.objects.replace(tenant, toHash(Buffer.from('content')), lost, 'late')).rejects.toMatchObject({
      name: 'StoreUnavailableError',
    });
    expect(await read('a')).toEqual(['content']);
  });

  it('equal files that are written and deleted at once share an object, or have one each, and none is left', async () => {
    const { files } = opened;
    const ids = Array.from({ length: 8 }, (_, index) => `f${index}`);
    await Promise.all(
      ids.map(async (id) => {
        await write(files, id, 'same', 'other');
        if (id > 'f3') await remove(files, id);
      }),
    );
    for (const id of ids.slice(0, 4)) expect(await read(id)).toEqual(['same', 'other']);
    await sweep();
    expect(inBucket()).toEqual(['other', 'same']);
    for (const id of ids.slice(0, 4)) await remove(files, id);
    expect(inBucket()).toEqual([]);
  });

  it('an object whose deletion may have begun is not taken by the process that has written it', async () => {
    const { files, clock } = opened;
    const piece = { position: 0, hash: toHash(Buffer.from('late')), object: 'late', length: 4 };
    await files.objects.plan('late', clock.now() + HOUR_MS);
    clock.advance(HOUR_MS);
    expect(await files.objects.due()).toEqual(['late']);
    await expect(files.objects.append(tenant, 'late', piece, clock.now() + HOUR_MS, PLENTY)).rejects.toMatchObject({
      name: 'StoreUnavailableError',
    });
    expect(await files.used(tenant)).toEqual({ bytes: 0, files: 0 });
  });

  it('an object that cannot be deleted does not keep others, and goes once it can', async () => {
    const { files, s3 } = opened;
    await write(files, 'a', ...Array.from({ length: 70 }, (_, index) => `piece ${index}`));
    const [stubborn] = s3.objects.keys();
    s3.misbehave = (request) => (request === `DELETE ${stubborn}` ? { status: 403, code: 'AccessDenied' } : undefined);
    await remove(files, 'a');
    expect([...s3.objects.keys()]).toEqual([stubborn]);
    s3.misbehave = () => undefined;
    while (await files.sweep());
    expect(s3.objects.size).toBe(0);
  });

  it('a file whose object somebody else has deleted or replaced cannot be read', async () => {
    const { files, s3 } = opened;
    await write(files, 'a', 'content');
    const [name = ''] = s3.objects.keys();
    s3.objects.set(name, Buffer.from('short'));
    await expect(files.piece(tenant, 'a', 0)).rejects.toMatchObject({ message: expect.stringContaining('length') });
    s3.objects.delete(name);
    await expect(files.piece(tenant, 'a', 0)).rejects.toMatchObject({
      message: expect.stringContaining('not in the bucket'),
    });
  });

  it('pieces that the database had before stay readable, and those in the bucket need it', async () => {
    const { files, records } = opened;
    await write(records, 'old', 'in the database');
    await write(files, 'new', 'in the bucket');
    expect(await read('old')).toEqual(['in the database']);
    await expect(records.piece(tenant, 'new', 0)).rejects.toMatchObject({ name: 'NoBucketError' });
  });
});
