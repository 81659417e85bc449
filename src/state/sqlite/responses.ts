import type { DatabaseSync } from 'node:sqlite';

import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import { ContextTooLargeError, WriteLockLostError } from '../errors.js';
import type { InProcessLock } from '../in-process/locks.js';
import { toKey } from '../keys.js';
import { pageOfItems, type PageRequest } from '../page.js';
import type { ResponseRecord, ResponseStore } from '../response-store.js';
import {
  contextRecord,
  readItem,
  readItems,
  readOrigin,
  readResponse,
  responseRecord,
  type StoredResponse,
  toBody,
  withMetadata,
} from '../stored-response.js';
import { conversationLock } from '../write-lock.js';
import type { ThreadGroup } from './executed.js';
import type { SqliteLog } from './log.js';
import { type NewResponse, type SaveOutcome, toNewResponse, toTexts } from './new-response.js';
import { bookmarking } from './statements/bookmarks.js';
import { labelEntering, responseInsertion } from './statements/insert-response.js';
import { leaving, MEMBER, type MemberRow } from './statements/leave-sessions.js';
import { joinPath, type PathRow, pathStatement } from './statements/path.js';
import { toColumn } from './statements/turn-items.js';
import { lookValues, SUBTREE, tenantNumbers, VISIBLE } from './statements/visible.js';
import type { GoneResponses, SqliteTombstones } from './tombstones.js';

/** Where an item is. */
interface ItemPlace {
  readonly response: number;
  readonly column: 'input' | 'output';
  readonly place: number;
}

/**
 * A page of input items, as `readItems` takes them. Texts cross threads, not objects: clients choose how deep these are, and a thread fails to
 * receive what it could still parse.
 */
export interface InputPage {
  readonly items: string;
  readonly hasMore: boolean;
}

/** A transcript. */
export interface StoredChain {
  readonly responseId: string;
  /** The items of the chain, as `readItems` takes them. */
  readonly items: string | null;
  readonly origin: string | null;
  readonly isInConversation: boolean;
  readonly sessionId: string;
  readonly expiresAt: number;
}

interface ChainRow extends PathRow {
  readonly origin: string | null;
  readonly session_id: string | null;
  readonly expires_at: number;
}

/** The session of the response or, if it left that one, another session that shares it; null when it is in none. */
const SESSION = `coalesce((
      SELECT s.session_id FROM session_responses s
      WHERE s.owner = r.owner AND s.session_id = r.session_id AND s.created_at = r.created_at AND s.id = r.id
    ), (
      SELECT min(s.session_id) FROM session_responses s WHERE s.response = r.response AND s.is_fork = 1
    ))`;

/** Responses in SQLite. */
export function sqliteResponses(database: DatabaseSync, now: () => number, maxBytes: number, log: SqliteLog) {
  const insert = responseInsertion(database, now);
  const tenants = tenantNumbers(database);
  const leave = leaving(database);
  const { bookmarkDeleted } = bookmarking(database);
  const sessionOfResponse = database.prepare(
    'SELECT r.session_id FROM tenants t JOIN responses r ON r.owner = t.owner WHERE t.key = ? AND r.id = ?',
  );
  const select = database.prepare(
    `SELECT r.id, r.body, r.status, r.output FROM responses r WHERE ${VISIBLE} AND r.id = ?4`,
  );
  // `NOT INDEXED`: the responses are found by their numbers.
  const hide = database.prepare(
    `WITH RECURSIVE ${SUBTREE}
    UPDATE responses AS r NOT INDEXED SET expires_at = 0 WHERE r.response IN (SELECT response FROM subtree) AND ${VISIBLE}
    RETURNING ${MEMBER}`,
  );
  // The columns have the values from before it: of the body, too.
  const setBody = database.prepare(
    `UPDATE responses AS r SET body = ?5, size = size - octet_length(body) + octet_length(?5)
    WHERE ${VISIBLE} AND r.id = ?4 AND r.status IN ('completed', 'incomplete') RETURNING id, created_at, response`,
  );
  const unlabel = database.prepare('DELETE FROM labels WHERE response = ?');
  const enterLabels = labelEntering(database);
  const selectPath = database.prepare(
    pathStatement(`${VISIBLE} AND r.id = ?4 AND r.status IN ('completed', 'incomplete') AND r.is_continuable = 1`, [
      ['origin', 'r.origin'],
      ['expires_at', 'r.expires_at'],
      ['session_id', SESSION],
    ]),
  );
  const selectInput = database.prepare(`SELECT r.input FROM responses r WHERE ${VISIBLE} AND r.id = ?4`);
  const columns = {
    input: database.prepare('SELECT input AS texts FROM responses WHERE response = ?'),
    output: database.prepare('SELECT output AS texts FROM responses WHERE response = ?'),
  };
  const selectPlace = database.prepare(
    `SELECT i.response, CASE WHEN i.is_output = 1 THEN 'output' ELSE 'input' END AS column, i.place
    FROM item_places i JOIN responses r ON r.response = i.response
    WHERE i.owner = ?1 AND i.key = ?4 AND r.is_continuable = 1 AND ${VISIBLE} ORDER BY i.response DESC LIMIT 1`,
  );
  const selectSaid = database.prepare(
    `SELECT i.body FROM conversation_items i JOIN conversations c ON c.conversation = i.conversation
    WHERE i.owner = ?1 AND i.key = ?2 AND i.is_given = 0 AND c.is_deleted = 0
    ORDER BY i.conversation DESC, i.position DESC LIMIT 1`,
  );

  /** An item of a response, otherwise of a conversation, which belongs to no session. `parsed`: columns by their response. */
  const findItem = (
    values: ReturnType<typeof lookValues>,
    key: string,
    parsed: Map<string, readonly Item[]>,
  ): string | undefined => {
    const held = selectPlace.get(...values, key) as unknown as ItemPlace | undefined;
    if (held !== undefined) {
      const { response, column, place } = held;
      const name = `${column} ${response}`;
      const items =
        parsed.get(name) ?? readItems(columns[column].get(response)?.['texts'] as string, `the item ${key}`);
      parsed.set(name, items);
      return JSON.stringify(items[place]);
    }
    const [owner, , within] = values;
    return within === null ? (selectSaid.get(owner, key)?.['body'] as string | undefined) : undefined;
  };

  return {
    save: (record: NewResponse): SaveOutcome => insert(record).outcome,

    /** The key of the session of a response, which never changes. */
    sessionOf: (tenant: string, id: string): string | undefined =>
      sessionOfResponse.get(toKey(tenant), toKey(id))?.['session_id'] as string | undefined,

    get: (tenant: string, id: string, within?: string): StoredResponse | undefined => {
      const values = [...lookValues(tenants, tenant, now(), within), toKey(id)];
      const stored = select.get(...values) as unknown as StoredResponse | undefined;
      if (stored?.status !== 'in_progress') return stored;
      return { ...stored, output: toColumn(toTexts(log.finishedItems(tenant, id))) };
    },

    /** Replaces its body and the metadata by which it is found; false when there is none that is completed or incomplete. */
    updateMetadata: (
      tenant: string,
      id: string,
      { body, metadata }: Pick<NewResponse, 'body' | 'metadata'>,
      within?: string,
    ): boolean => {
      const row = setBody.get(...lookValues(tenants, tenant, now(), within), toKey(id), body) as
        { id: string; created_at: number; response: number } | undefined;
      if (row === undefined) return false;
      unlabel.run(row.response);
      enterLabels(tenant, row, metadata);
      return true;
    },

    /** Hides responses; they stay until they are freed. */
    delete: (tenant: string, id: string, cascade: boolean, within?: string): GoneResponses => {
      const values = [...lookValues(tenants, tenant, now(), within), toKey(id), cascade ? 1 : 0];
      const gone = hide.all(...values) as unknown as MemberRow[];
      for (const row of gone) {
        bookmarkDeleted(row.response, now());
        leave(row);
      }
      return { ids: gone.map((row) => row.id), numbers: gone.map(({ response }) => response) };
    },

    chain: (tenant: string, id: string, within?: string): StoredChain | undefined => {
      const values = [...lookValues(tenants, tenant, now(), within), toKey(id), maxBytes];
      const rows = selectPath.all(...values) as unknown as ChainRow[];
      const last = rows.find(({ level }) => level === 0);
      if (last === undefined) return undefined;
      if (last.bytes > maxBytes) throw new ContextTooLargeError(maxBytes, 'previous_response_id');
      return {
        responseId: id,
        items: joinPath(rows),
        origin: last.origin,
        isInConversation: rows.some(({ conversation }) => conversation !== null),
        sessionId: last.session_id ?? id,
        expiresAt: last.expires_at,
      };
    },

    /** A page of its input; undefined when it is not found. */
    inputItems: (tenant: string, id: string, page: PageRequest, within?: string): InputPage | undefined => {
      const row = selectInput.get(...lookValues(tenants, tenant, now(), within), toKey(id)) as
        { input: string | null } | undefined;
      if (row === undefined) return undefined;
      const { data, hasMore } = pageOfItems(readItems(row.input, responseRecord(id)), page);
      return { items: data.map((item) => JSON.stringify(item)).join(','), hasMore };
    },

    /** The latest versions of items, by id, as JSON; not if they have more bytes together. */
    items: (tenant: string, ids: readonly string[], within?: string): ReadonlyMap<string, string> => {
      const values = lookValues(tenants, tenant, now(), within);
      const found = new Map<string, string>();
      // Many items are often of one response.
      const parsed = new Map<string, readonly Item[]>();
      let bytes = 0;
      for (const id of new Set(ids)) {
        const text = findItem(values, toKey(id), parsed);
        if (text === undefined) continue;
        found.set(id, text);
        bytes += Buffer.byteLength(text);
        if (bytes > maxBytes) throw new ContextTooLargeError(maxBytes, 'input');
      }
      return found;
    },
  };
}

/** What the store of the process needs. */
interface Parts {
  readonly thread: ThreadGroup<ReturnType<typeof sqliteResponses>>;
  /** Asks whether the database can be written, and whether it can be read, too. */
  readonly health: { checkIfInDoubt(): void | Promise<void>; check(): Promise<void> };
  readonly locks: InProcessLock;
  readonly tombstones: SqliteTombstones;
  readonly log: { forget(): Promise<boolean> };
  readonly conversations: { forget(): Promise<boolean> };
}

/** Responses for the process, which has the locks, and frees what is gone. */
export function responsesOf({ thread, health, locks, tombstones, log, conversations }: Parts): ResponseStore {
  const { get, chain, inputItems, items } = thread.reading({
    get: readResponse,
    chain: ({ items: texts, origin, ...rest }) => {
      const record = contextRecord(rest.responseId);
      return { ...rest, items: readItems(texts, record), origin: readOrigin(origin, record) };
    },
    // The thread has read these itself.
    inputItems: ({ items: texts, hasMore }) => ({ data: readItems(texts, 'a page of input items'), hasMore }),
    items: (found) => new Map([...found].map(([id, text]) => [id, readItem(text, `the item ${id}`)])),
  });

  /**
   * False, and nothing is saved, when the parent is not stored. The lock is checked as the record is sent: what others do with
   * the lock that they acquire later is executed later. Throws WriteLockLostError and ConversationChangedError.
   */
  const insert = async (tenant: Tenant, record: ResponseRecord, parentId: string | null): Promise<boolean> => {
    const { sessionId, conversation, fence } = record;
    const lock = conversation === null ? sessionId : conversationLock(conversation.id);
    if (fence !== null && !locks.isHeld(tenant, lock, fence)) {
      // The save of a turn releases the lock of its conversation: one that is repeated has it no more.
      const session = conversation === null ? undefined : await thread.call('sessionOf', tenant, record.response.id);
      if (session !== undefined) return true;
      throw new WriteLockLostError(lock);
    }
    const outcome = await thread.call('save', toNewResponse(tenant, record, parentId));
    if (outcome === 'unlinked') return false;
    if (conversation !== null && fence !== null) locks.release(tenant, lock, fence);
    return true;
  };

  return {
    expectSave: () => health.checkIfInDoubt(),

    save: async (tenant, record) => {
      const isSaved = await insert(tenant, record, record.parentId);
      // The parent was never stored, or is gone: what came before is stored with the response.
      if (!isSaved) await insert(tenant, record, null);
    },

    get,

    updateMetadata: async (tenant, responseId, metadata, within) => {
      const response = withMetadata(await get(tenant, responseId, within), metadata);
      if (response === undefined) return undefined;
      const texts = { body: toBody(response), metadata };
      return (await thread.call('updateMetadata', tenant, responseId, texts, within)) ? response : undefined;
    },

    delete: async (tenant, responseId, { cascade }, within) => {
      const gone = await thread.call('delete', tenant, responseId, cascade, within);
      await tombstones.bury(gone);
      return gone.numbers.length;
    },

    chain,

    inputItems,

    items,

    purge: async () => {
      const hasMoreResponses = await tombstones.sweep();
      const hasMoreLogs = await log.forget();
      return (await conversations.forget()) || hasMoreLogs || hasMoreResponses;
    },

    check: () => health.check(),
  };
}
