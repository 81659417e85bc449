import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../keys.js';
import type { ForkOutcome, ForkRequest, SessionStore } from '../session-store.js';
import type { ThreadGroup } from './executed.js';
import { bookmarking } from './statements/bookmarks.js';
import { tenantNumbers } from './statements/visible.js';
import type { GoneResponses, SqliteTombstones } from './tombstones.js';

/** A session that was deleted. */
export interface DeletedSession {
  /** The responses that were in no other session: they are gone. */
  readonly gone: GoneResponses;
  /** The keys of all its responses. */
  readonly members: readonly string[];
}

interface Member {
  readonly created_at: number;
  readonly id: string;
  readonly response: number;
}

/** The visible responses of session `?2`; `?3` is the time. */
const MEMBERS = `FROM session_responses s CROSS JOIN responses r ON r.response = s.response
    WHERE s.owner = ?1 AND s.session_id = ?2 AND r.expires_at > ?3`;

/** Counts the visible responses of a session, no further than `most`. */
export function memberCounting(database: DatabaseSync) {
  const count = database.prepare(`SELECT count(*) AS members FROM (SELECT 1 ${MEMBERS} LIMIT ?4)`);
  return (owner: number | null, sessionId: string, now: number, most: number): number =>
    Number(count.get(owner, toKey(sessionId), now, most)?.['members']);
}

/** Sessions of responses in SQLite. */
export function sqliteSessions(database: DatabaseSync, now: () => number) {
  const tenants = tenantNumbers(database);
  const { bookmarkDeleted } = bookmarking(database);
  const some = database.prepare(`SELECT 1 ${MEMBERS} LIMIT 1`);
  const find = database.prepare(`SELECT s.created_at, s.id ${MEMBERS} AND s.id = ?4`);
  const upTo = database.prepare(
    `SELECT s.created_at, s.id, s.response ${MEMBERS} AND (?4 IS NULL OR (s.created_at, s.id) <= (?4, ?5))
    ORDER BY s.created_at, s.id LIMIT ?6`,
  );
  const join = database.prepare('INSERT OR IGNORE INTO session_responses VALUES (?, ?, ?, ?, ?, 1)');
  const remove = database.prepare(
    'DELETE FROM session_responses WHERE owner = ? AND session_id = ? RETURNING id, response',
  );
  // Forks are counted up to the limit.
  const countForks = database.prepare(
    'SELECT count(*) AS forks FROM (SELECT 1 FROM session_responses WHERE response = ? AND is_fork = 1 LIMIT ?)',
  );
  const isVisible = database.prepare('SELECT 1 FROM responses WHERE response = ? AND expires_at > ?');
  const hide = database.prepare(
    `UPDATE responses AS r SET expires_at = 0 WHERE response = ?1
      AND NOT EXISTS (SELECT 1 FROM session_responses f WHERE f.response = ?1 AND f.is_fork = 1)
      AND NOT EXISTS (SELECT 1 FROM session_responses s
        WHERE s.owner = r.owner AND s.session_id = r.session_id AND s.created_at = r.created_at AND s.id = r.id)`,
  );
  const countMembers = memberCounting(database);

  return {
    fork: (tenant: string, request: ForkRequest): ForkOutcome => {
      const [owner, time] = [tenants.find(tenant), now()];
      const { upToResponseId, limit = Infinity, forkLimit = Infinity } = request;
      const [source, target] = [toKey(request.sourceId), toKey(request.targetId)];
      if (some.get(owner, source, time) === undefined) return { refused: 'source_not_found' };
      const last =
        upToResponseId === undefined
          ? null
          : (find.get(owner, source, time, toKey(upToResponseId)) as Pick<Member, 'created_at' | 'id'> | undefined);
      if (last === undefined) return { refused: 'response_not_found' };
      if (some.get(owner, target, time) !== undefined) return { refused: 'target_exists' };
      // Without a limit: -1.
      const rows = limit === Infinity ? -1 : limit + 1;
      const values = [owner, source, time, last?.created_at ?? null, last?.id ?? null, rows];
      const shared = upTo.all(...values) as unknown as Member[];
      if (shared.length > limit) return { refused: 'too_many_responses' };
      const [first] = shared;
      if (first !== undefined && forkLimit !== Infinity) {
        const forks = Number(countForks.get(first.response, forkLimit)?.['forks']);
        if (forks >= forkLimit) return { refused: 'too_many_forks' };
      }
      for (const { created_at: createdAt, id, response } of shared) join.run(owner, target, createdAt, id, response);
      return { responses: shared.length };
    },

    /** Undefined when it has no visible response. */
    delete: (tenant: string, sessionId: string): DeletedSession | undefined => {
      const [owner, time] = [tenants.find(tenant), now()];
      const key = toKey(sessionId);
      if (some.get(owner, key, time) === undefined) return undefined;
      const members = remove.all(owner, key) as unknown as Pick<Member, 'id' | 'response'>[];
      const gone = members.filter(
        ({ response }) => isVisible.get(response, time) !== undefined && hide.run(response).changes > 0,
      );
      for (const { response } of gone) bookmarkDeleted(response, time, [key]);
      return {
        gone: { ids: gone.map(({ id }) => id), numbers: gone.map(({ response }) => response) },
        members: members.map(({ id }) => id),
      };
    },

    hasAtLeast: (tenant: string, sessionId: string, responses: number): boolean =>
      countMembers(tenants.find(tenant), sessionId, now(), responses) === responses,
  };
}

/** Sessions for the process, which says what has changed and frees what is gone. */
export function sessionsOf(
  thread: ThreadGroup<ReturnType<typeof sqliteSessions>>,
  tombstones: SqliteTombstones,
): SessionStore {
  const { fork, hasAtLeast } = thread.contract(['fork', 'hasAtLeast']);
  return {
    fork,

    delete: async (tenant, sessionId) => {
      const deleted = await thread.call('delete', tenant, sessionId);
      if (deleted === undefined) return false;
      // The remaining responses now belong to other sessions; cached copies are outdated.
      await tombstones.bury(deleted.gone, deleted.members);
      return true;
    },

    hasAtLeast,
  };
}
