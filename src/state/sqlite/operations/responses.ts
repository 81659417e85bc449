import type { DatabaseSync } from 'node:sqlite';

import type { Item } from '../../../protocol/index.js';
import { ContextTooLargeError } from '../../errors.js';
import { toKey } from '../../keys.js';
import type { PageRequest } from '../../page.js';
import { pageOfItems } from '../../page-of-items.js';
import { readItems, type StoredResponse } from '../../stored-response.js';
import type { ItemPage, NewResponse, SaveOutcome } from '../new-response.js';
import { responseInsertion } from './insert-response.js';
import { tenantNumbers } from './tenants.js';
import { lookValues, VISIBLE } from './visible.js';
import { joinPath, type PathRow, pathStatement } from './path.js';

/** Where an item is. */
interface ItemPlace {
  readonly response: number;
  readonly column: 'input' | 'output';
  readonly place: number;
}

/** Saves and reads single responses. */
export function responseOperations(database: DatabaseSync, now: () => number) {
  const insert = responseInsertion(database, now);
  const tenants = tenantNumbers(database);
  const select = database.prepare(`SELECT r.body, r.status, r.output FROM responses r WHERE ${VISIBLE} AND r.id = ?4`);
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
      const items = parsed.get(name) ?? readItems(columns[column].get(response)?.['texts'] as string);
      parsed.set(name, items);
      return JSON.stringify(items[place]);
    }
    const [owner, , within] = values;
    return within === null ? (selectSaid.get(owner, key)?.['body'] as string | undefined) : undefined;
  };

  return {
    save: (record: NewResponse): SaveOutcome => insert(record).outcome,

    get: (tenant: string, id: string, within?: string): StoredResponse | undefined =>
      select.get(...lookValues(tenants, tenant, now(), within), toKey(id)) as unknown as StoredResponse | undefined,

    /** A page of its input; undefined when it is not found. */
    inputItems: (tenant: string, id: string, page: PageRequest, within?: string): ItemPage | undefined => {
      const row = selectInput.get(...lookValues(tenants, tenant, now(), within), toKey(id)) as
        { input: string | null } | undefined;
      if (row === undefined) return undefined;
      const { data, hasMore } = pageOfItems(readItems(row.input), page);
      return { items: data.map((item) => JSON.stringify(item)).join(','), hasMore };
    },

    /** The latest versions of items, by id, as JSON; not if they have more bytes together. */
    items: (tenant: string, ids: readonly string[], maxBytes: number, within?: string): ReadonlyMap<string, string> => {
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

/** A transcript. */
export interface StoredChain {
  /** Its items, as `readItems` takes them. */
  readonly items: string | null;
  readonly origin: string | null;
  /** Whether one of its responses was made in a conversation. */
  readonly isInConversation: boolean;
  /** The session of the response or, if it left that one, another session that shares it; null when it is in none. */
  readonly sessionId: string | null;
  readonly expiresAt: number;
}

interface ChainRow extends PathRow {
  readonly origin: string | null;
  readonly session_id: string | null;
  readonly expires_at: number;
}

const SESSION = `coalesce((
      SELECT s.session_id FROM session_responses s
      WHERE s.owner = r.owner AND s.session_id = r.session_id AND s.created_at = r.created_at AND s.id = r.id
    ), (
      SELECT min(s.session_id) FROM session_responses s WHERE s.response = r.response AND s.is_fork = 1
    ))`;

/** Reads transcripts, each with one statement. */
export function chainOperations(database: DatabaseSync, now: () => number) {
  const tenants = tenantNumbers(database);
  const select = database.prepare(
    pathStatement(`${VISIBLE} AND r.id = ?4 AND r.status IN ('completed', 'incomplete') AND r.is_continuable = 1`, [
      ['origin', 'r.origin'],
      ['expires_at', 'r.expires_at'],
      ['session_id', SESSION],
    ]),
  );
  return {
    chain: (tenant: string, id: string, maxBytes: number, within?: string): StoredChain | undefined => {
      const rows = select.all(
        ...lookValues(tenants, tenant, now(), within),
        toKey(id),
        maxBytes,
      ) as unknown as ChainRow[];
      const last = rows.find(({ level }) => level === 0);
      if (last === undefined) return undefined;
      if (last.bytes > maxBytes) throw new ContextTooLargeError(maxBytes, 'previous_response_id');
      return {
        items: joinPath(rows),
        origin: last.origin,
        isInConversation: rows.some(({ conversation }) => conversation !== null),
        sessionId: last.session_id,
        expiresAt: last.expires_at,
      };
    },
  };
}
