import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { StoreUnavailableError } from '../errors.js';
import {
  type FileQuota,
  type FileUsage,
  ObjectRecords,
  type PiecePlace,
  requireRoom,
  type StoredObject,
} from '../file-store.js';
import { toKey } from '../keys.js';
import type { Database, RunStatement } from './database.js';
import {
  APPEND,
  APPEND_KNOWN,
  DUE_OBJECTS,
  FORGET_OBJECTS,
  PIECE,
  PLAN_OBJECT,
  REPLACE_OBJECT,
  TAKE_OBJECT,
} from './statements/files.js';

const NO_BYTES = new Uint8Array();

/** Pieces in a bucket, as PostgreSQL knows them. */
export class PostgresObjectRecords extends ObjectRecords {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly used: (tenant: Tenant) => Promise<FileUsage>,
  ) {
    super();
  }

  override async plan(object: string, dueAt: number): Promise<void> {
    await this.database.query(PLAN_OBJECT, [object, dueAt]);
  }

  override async appendKnown(
    tenant: Tenant,
    draftId: string,
    { position, hash, length }: PiecePlace & { readonly length: number },
    expiresAt: number,
    quota: FileQuota,
  ): Promise<string | null | undefined> {
    const { bytes, files } = await this.used(tenant);
    requireRoom({ bytes: bytes + length, files }, quota);
    const next = [toKey(tenant), toKey(draftId), expiresAt, position, hash, length] as const;
    const [known] = await this.database.query(APPEND_KNOWN, next);
    // Others may have come at once.
    if (known !== undefined) requireRoom(await this.used(tenant), quota);
    return known?.object;
  }

  override async append(
    tenant: Tenant,
    draftId: string,
    { position, hash, object, length }: PiecePlace & StoredObject,
    expiresAt: number,
    quota: FileQuota,
  ): Promise<void> {
    const next = [toKey(tenant), toKey(draftId), expiresAt, position, hash, length] as const;
    await this.database.transaction(async (run) => {
      await take(run, object);
      const [piece] = await run(APPEND, [...next, NO_BYTES, object]);
      if (piece?.object !== object) await run(PLAN_OBJECT, [object, 0]);
    });
    requireRoom(await this.used(tenant), quota);
  }

  override async replace(tenant: Tenant, hash: string, lost: string, object: string): Promise<void> {
    await this.database.transaction(async (run) => {
      await take(run, object);
      const isReplaced = (await run(REPLACE_OBJECT, [toKey(tenant), hash, lost, object])).length > 0;
      await run(PLAN_OBJECT, [isReplaced ? lost : object, 0]);
    });
  }

  override async find(
    tenant: Tenant,
    contentId: string,
    position: number,
  ): Promise<Uint8Array | StoredObject | undefined> {
    const place = [toKey(tenant), toKey(contentId), this.clock.now(), position] as const;
    const [row] = await this.database.repeatable(PIECE, place);
    if (row === undefined || row.object === null) return row?.bytes;
    return { object: row.object, length: row.length };
  }

  override async due(): Promise<readonly string[]> {
    return (await this.database.repeatable(DUE_OBJECTS, [this.clock.now()])).map(({ name }) => name);
  }

  override async forget(objects: readonly string[]): Promise<void> {
    await this.database.repeatable(FORGET_OBJECTS, [objects]);
  }
}

/** Takes an object out of the plan. Throws StoreUnavailableError where its deletion may have begun. */
async function take(run: RunStatement, object: string): Promise<void> {
  if ((await run(TAKE_OBJECT, [object])).length > 0) return;
  throw new StoreUnavailableError(`the object ${object} was written too late`);
}
