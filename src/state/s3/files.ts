import { Logger } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { inOneLine, StoreUnavailableError } from '../errors.js';
import type { FilePiece, FileQuota, FileStore, ObjectRecords } from '../file-store.js';
import { FILE_MODES, type FileMethods } from '../sql/files.js';
import { methodsOf } from '../sql/steps.js';
import type { Bucket } from './bucket.js';

/** Most bytes of an object: each costs a request, and an upload holds one in memory. */
const OBJECT_BYTES = 4 * 1024 * 1024;

/** How long an object may take from its plan to its piece, ms: much longer than the attempts to write it. */
const PLAN_MS = 3_600_000;

/** Files whose pieces are objects of a bucket. */
export type BucketFileStore = FileStore & Required<Pick<FileStore, 'objects' | 'openPiece' | 'sweep'>>;

/** Puts the pieces of files into a bucket. All else stays with the database that has their records. */
export function toBucketFileStore(
  records: FileStore,
  objects: ObjectRecords,
  bucket: Bucket,
  clock: Clock,
): BucketFileStore {
  const pieces = new BucketPieces(objects, bucket, clock);
  const kept = methodsOf(FILE_MODES).map((name) => {
    const method = Reflect.get(records, name) as (...args: never[]) => unknown;
    return [name, method.bind(records)] as const;
  });
  return {
    ...(Object.fromEntries(kept) as Pick<FileStore, keyof FileMethods>),
    pieceBytes: OBJECT_BYTES,
    objects,
    append: pieces.append.bind(pieces),
    piece: pieces.piece.bind(pieces),
    openPiece: pieces.openPiece.bind(pieces),
    sweep: pieces.sweep.bind(pieces),
  };
}

/** What is done with pieces where they are objects. */
class BucketPieces {
  private readonly logger = new Logger('Files');

  constructor(
    private readonly objects: ObjectRecords,
    private readonly bucket: Bucket,
    private readonly clock: Clock,
  ) {}

  async append(
    tenant: Tenant,
    draftId: string,
    { position, hash, bytes }: FilePiece,
    expiresAt: number,
    quota: FileQuota,
  ): Promise<void> {
    const piece = { position, hash, length: bytes.length };
    const known = await this.objects.appendKnown(tenant, draftId, piece, expiresAt, quota);
    if (known === null) return;
    // The bucket may have lost it, or have been restored from an older copy: whoever sends the bytes again repairs all files that have them.
    if (known !== undefined && (await this.bucket.has(known))) return;
    const object = this.bucket.newName();
    await this.objects.plan(object, this.clock.now() + PLAN_MS);
    await this.bucket.put(object, bytes);
    if (known === undefined) await this.objects.append(tenant, draftId, { ...piece, object }, expiresAt, quota);
    else await this.objects.replace(tenant, hash, known, object);
  }

  async piece(tenant: Tenant, contentId: string, position: number): Promise<Uint8Array | undefined> {
    const parts: Uint8Array[] = [];
    const piece = await this.openPiece(tenant, contentId, position, (left) => left);
    if (piece === undefined) return undefined;
    for await (const part of piece) parts.push(part);
    return Buffer.concat(parts);
  }

  async openPiece(
    tenant: Tenant,
    contentId: string,
    position: number,
    mostBytes: (left: number) => number,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const find = (): ReturnType<ObjectRecords['find']> => this.objects.find(tenant, contentId, position);
    const found = await find();
    if (found === undefined) return undefined;
    if (found instanceof Uint8Array) return whole(found);
    const { object, length: of } = found;
    const read = async (start: number): Promise<readonly Uint8Array[] | undefined> =>
      this.bucket.read(object, { start, length: Math.min(of - start, mostBytes(of - start)), of }, signal);
    const first = await read(0);
    if (first !== undefined) return inFull(first, of, read);
    // The file may have been deleted meanwhile, or its lost object replaced.
    const current = await find();
    if (current === undefined) return undefined;
    if (current instanceof Uint8Array || current.object !== object) {
      return this.openPiece(tenant, contentId, position, mostBytes, signal);
    }
    this.logger.error(`${contentId} cannot be read: its object ${object} is not in the bucket`);
    throw new StoreUnavailableError(`the object ${object} is not in the bucket`);
  }

  async sweep(): Promise<boolean> {
    const deleted: string[] = [];
    const remove = async (object: string): Promise<void> => {
      await this.bucket.delete(object);
      deleted.push(object);
    };
    const outcomes = await Promise.allSettled((await this.objects.due()).map(remove));
    if (deleted.length > 0) await this.objects.forget(deleted);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) this.logger.debug(`objects are not deleted yet: ${inOneLine(failed.reason)}`);
    return deleted.length > 0;
  }
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The bytes of an object, read after one another. Throws StoreUnavailableError for an object that goes meanwhile. */
async function* inFull(
  first: readonly Uint8Array[],
  length: number,
  read: (start: number) => Promise<readonly Uint8Array[] | undefined>,
): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (let parts: readonly Uint8Array[] | undefined = first; parts !== undefined; parts = await read(start)) {
    for (const part of parts) {
      start += part.length;
      yield part;
    }
    if (start === length) return;
  }
  throw new StoreUnavailableError('an object of the bucket was deleted while it was read');
}
