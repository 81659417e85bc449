import type { DatabaseSync } from 'node:sqlite';

/** A response with what its sessions know of it. */
export interface MemberRow {
  readonly response: number;
  readonly owner: number;
  readonly id: string;
  readonly session_id: string;
  readonly created_at: number;
  readonly expires_at: number;
}

/** The columns of a MemberRow. */
export const MEMBER = 'response, owner, id, session_id, created_at, expires_at';

/** The sessions of response `r`, JSON. */
export const SESSIONS = `(SELECT json_group_array(session_id) FROM (
    SELECT s.session_id FROM session_responses s
    WHERE s.owner = r.owner AND s.session_id = r.session_id AND s.created_at = r.created_at AND s.id = r.id
    UNION
    SELECT f.session_id FROM session_responses f WHERE f.response = r.response AND f.is_fork = 1))`;

/** Takes responses out of all their sessions. */
export function leaving(database: DatabaseSync) {
  const leaveOwn = database.prepare(
    'DELETE FROM session_responses WHERE owner = ? AND session_id = ? AND created_at = ? AND id = ?',
  );
  const leaveForks = database.prepare('DELETE FROM session_responses WHERE response = ? AND is_fork = 1');
  return ({ owner, session_id: sessionId, created_at: createdAt, id, response }: MemberRow): void => {
    leaveOwn.run(owner, sessionId, createdAt, id);
    leaveForks.run(response);
  };
}
