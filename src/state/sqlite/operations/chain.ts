import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../../keys.js';
import { joinPath, type PathRow, pathStatement } from './path.js';
import { tenantNumbers } from './tenants.js';
import { type Look, lookValues, VISIBLE } from './visible.js';

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
export function chainOperations(database: DatabaseSync) {
  const tenants = tenantNumbers(database);
  const select = database.prepare(
    pathStatement(`${VISIBLE} AND r.id = ?4 AND r.status IN ('completed', 'incomplete') AND r.is_continuable = 1`, [
      ['origin', 'r.origin'],
      ['expires_at', 'r.expires_at'],
      ['session_id', SESSION],
    ]),
  );
  return {
    chain: (look: Look, id: string, maxBytes: number): StoredChain | 'too large' | undefined => {
      const rows = select.all(...lookValues(tenants, look), toKey(id), maxBytes) as unknown as ChainRow[];
      const last = rows.find(({ level }) => level === 0);
      if (last === undefined) return undefined;
      if (last.bytes > maxBytes) return 'too large';
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
