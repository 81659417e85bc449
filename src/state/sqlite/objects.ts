import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { StoreUnavailableError } from '../errors.js';
import { type FileQuota, FileQuotaError, ObjectRecords, type PiecePlace, type StoredObject } from '../file-store.js';
import type { DatabaseThread } from './database-thread.js';
import type { FileRefusal } from './operations/objects.js';

/** Pieces in a bucket, as SQLite knows them. */
export class SqliteObjectRecords extends ObjectRecords {
  constructor(
    private readonly thread: DatabaseThread,
    private readonly clock: Clock,
  ) {
    super();
  }

  override plan(object: string, dueAt: number): Promise<void> {
    return this.thread.call('planObject', object, dueAt);
  }

  override async appendKnown(
    tenant: Tenant,
    draftId: string,
    piece: PiecePlace & { readonly length: number },
    expiresAt: number,
    quota: FileQuota,
  ): Promise<string | null | undefined> {
    const now = this.clock.now();
    const outcome = await this.thread.call('appendKnownPiece', tenant, draftId, piece, expiresAt, quota, now);
    if (outcome === undefined || 'object' in outcome) return outcome?.object;
    throw toError(outcome.refusal);
  }

  override async append(
    tenant: Tenant,
    draftId: string,
    piece: PiecePlace & StoredObject,
    expiresAt: number,
    quota: FileQuota,
  ): Promise<void> {
    const now = this.clock.now();
    const outcome = await this.thread.call('appendObject', tenant, draftId, piece, expiresAt, quota, now);
    if (outcome === 'too late') throw writtenTooLate(piece.object);
    requireStored(outcome);
  }

  override async replace(tenant: Tenant, hash: string, lost: string, object: string): Promise<void> {
    const outcome = await this.thread.call('replaceObject', tenant, hash, lost, object);
    if (outcome === 'too late') throw writtenTooLate(object);
  }

  override find(tenant: Tenant, contentId: string, position: number): Promise<Uint8Array | StoredObject | undefined> {
    return this.thread.call('filePiece', tenant, contentId, position, this.clock.now());
  }

  override due(): Promise<readonly string[]> {
    return this.thread.call('dueObjects', this.clock.now());
  }

  override forget(objects: readonly string[]): Promise<void> {
    return this.thread.call('forgetObjects', objects);
  }
}

/** Throws for what was not stored. */
export function requireStored(refusal: FileRefusal | undefined): void {
  if (refusal !== undefined) throw toError(refusal);
}

function toError(refusal: FileRefusal): Error {
  return refusal === 'no draft'
    ? new StoreUnavailableError('the draft of a file is gone')
    : new FileQuotaError(refusal);
}

function writtenTooLate(object: string): StoreUnavailableError {
  return new StoreUnavailableError(`the object ${object} was written too late`);
}
