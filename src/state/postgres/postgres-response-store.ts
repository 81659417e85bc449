import type { Tenant } from '../../access/index.js';
import type { Item, Origin, ResponseObject } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { ContextTooLargeError, SessionLockLostError, UnknownCursorError } from '../errors.js';
import type { Page, PageRequest } from '../page.js';
import { type Chain, type DeleteOptions, type ResponseRecord, ResponseStore } from '../response-store.js';
import { readItems, readResponse, toColumns } from './columns.js';
import type { Database } from './database.js';
import { toKey } from './keys.js';
import { DELETE } from './statements/delete.js';
import { inputItems } from './statements/input-items.js';
import { CHAIN, GET, ITEMS } from './statements/read.js';
import { SAVE } from './statements/save.js';
import type { Tombstones } from './tombstones.js';
import { viewerOf } from './viewer.js';

/** Stores responses in PostgreSQL, for all replicas. */
export class PostgresResponseStore extends ResponseStore {
  constructor(
    private readonly database: Database,
    private readonly tombstones: Tombstones,
    private readonly clock: Clock,
    private readonly maxContextBytes: number,
  ) {
    super();
  }

  override expectSave(): void | Promise<void> {
    return this.database.checkIfInDoubt();
  }

  override async save(tenant: Tenant, record: ResponseRecord): Promise<void> {
    // When the parent was never stored or was deleted meanwhile, the response is saved with its whole transcript.
    const isSaved = await this.insert(tenant, record, record.parentId);
    if (!isSaved) await this.insert(tenant, record, null);
  }

  override async get(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined> {
    const [row] = await this.database.repeatable(GET, [...viewerOf(tenant, this.clock, within), toKey(responseId)]);
    return row && readResponse(row);
  }

  override async delete(tenant: Tenant, responseId: string, options: DeleteOptions, within?: string): Promise<number> {
    const values = [...viewerOf(tenant, this.clock, within), toKey(responseId), options.cascade] as const;
    const [row] = await this.database.query(DELETE, values);
    const ids = row?.ids ?? [];
    await this.tombstones.bury(toKey(tenant), ids);
    return ids.length;
  }

  override async chain(tenant: Tenant, responseId: string, within?: string): Promise<Chain | undefined> {
    const values = [...viewerOf(tenant, this.clock, within), toKey(responseId), this.maxContextBytes] as const;
    const [row] = await this.database.repeatable(CHAIN, values);
    if (row === undefined) return undefined;
    if (row.too_large) throw new ContextTooLargeError(this.maxContextBytes, 'previous_response_id');
    const origin = row.origin === null ? null : (JSON.parse(row.origin) as Origin);
    const { session_id: sessionId, expires_at: expiresAt } = row;
    return {
      responseId,
      items: readItems(row.items),
      origin,
      sessionId: sessionId ?? responseId,
      expiresAt: expiresAt.getTime(),
    };
  }

  override async inputItems(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<Item> | undefined> {
    const cursor = page.after ?? page.before;
    const rows = await this.database.repeatable(inputItems(page), [
      ...viewerOf(tenant, this.clock, within),
      toKey(responseId),
      cursor === undefined ? null : toKey(cursor),
      page.limit + 1,
    ]);
    if (rows[0]?.known !== true) return undefined;
    if (cursor !== undefined && !rows[0].found) throw new UnknownCursorError(page);
    const bodies = rows.map(({ body }) => body).filter((body) => body !== null);
    const data = bodies.slice(0, page.limit).map((body) => JSON.parse(body) as Item);
    return { data: page.before === undefined ? data : data.reverse(), hasMore: bodies.length > page.limit };
  }

  override async items(tenant: Tenant, ids: readonly string[], within?: string): Promise<ReadonlyMap<string, Item>> {
    const idOfKey = new Map(ids.map((id) => [toKey(id), id]));
    const values = [...viewerOf(tenant, this.clock, within), [...idOfKey.keys()], this.maxContextBytes] as const;
    const found = new Map<string, Item>();
    for (const { item_key: key, body } of await this.database.repeatable(ITEMS, values)) {
      if (body === null) throw new ContextTooLargeError(this.maxContextBytes, 'input');
      found.set(idOfKey.get(key) ?? key, JSON.parse(body) as Item);
    }
    return found;
  }

  override purge(): Promise<boolean> {
    return this.tombstones.sweep();
  }

  override async check(): Promise<void> {
    await this.database.check();
  }

  /** False, and nothing is saved, when the parent is not stored. Throws SessionLockLostError. */
  private async insert(tenant: Tenant, record: ResponseRecord, parentId: string | null): Promise<boolean> {
    const isRoot = parentId === null;
    const columns = toColumns(toKey(tenant), record, isRoot ? record.inherited : []);
    const [row] = await this.database.repeatable(SAVE, [
      toKey(tenant),
      toKey(record.response.id),
      isRoot ? null : toKey(parentId),
      toKey(record.sessionId),
      ...columns,
    ]);
    if (row?.leased !== true) throw new SessionLockLostError(record.sessionId);
    return row.linked;
  }
}
