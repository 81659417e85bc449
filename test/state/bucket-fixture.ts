import type { FileStore, StateBackend } from '../../src/state/index.js';
import { Bucket, type BucketFileStore, toBucketFileStore } from '../../src/state/s3/index.js';
import { FakeS3 } from '../support/s3/fake-s3.js';
import type { OpenedBackend, TestedBackend } from './backends.js';
import { openPostgres } from './postgres-fixture.js';
import { openSqlite } from './sqlite-fixture.js';

/** A backend whose files have their bytes in a bucket. */
export interface OpenedBucket extends OpenedBackend {
  readonly files: BucketFileStore;
  /** What the backend itself knows of them. */
  readonly records: FileStore;
  readonly bucket: Bucket;
  readonly s3: FakeS3;
}

/** Puts an empty bucket beside a backend. */
async function withBucket(opened: OpenedBackend): Promise<OpenedBucket> {
  const s3 = await FakeS3.start();
  const { files: records } = opened.backend;
  if (records?.objects === undefined) throw new Error('the backend knows no objects');
  const bucket = new Bucket(s3.settings, opened.clock);
  const files = toBucketFileStore(records, records.objects, bucket, opened.clock);
  const close = async (): Promise<void> => {
    bucket.close();
    await opened.close();
    await s3[Symbol.asyncDispose]();
  };
  const backend = new Proxy<StateBackend>(opened.backend, {
    get: (target, name) => (name === 'files' ? files : (Reflect.get(target, name, target) as unknown)),
  });
  return { ...opened, backend, files, records, bucket, s3, close, [Symbol.asyncDispose]: close };
}

/** Backends that keep what is known of files beside a bucket. */
export const BUCKETS: readonly (Omit<TestedBackend, 'open'> & { readonly open: () => Promise<OpenedBucket> })[] = [
  { name: 'sqlite with a bucket', open: async () => withBucket(await openSqlite()), without: ['limits'] },
  { name: 'postgres with a bucket', open: async () => withBucket(await openPostgres()) },
];
