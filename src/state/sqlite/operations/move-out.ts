import type { DatabaseSync, StatementSync } from 'node:sqlite';

import type { StoredJob } from './jobs.js';
import { SESSIONS } from './leave-sessions.js';
import { tenantNumbers } from './tenants.js';

/** Most rows that are read at once, and most characters, unless one row alone has more. */
const ROWS = 500;
const LENGTH = 8 * 1024 * 1024;

/** A conversation without its items. */
export interface MovedConversationRow {
  readonly conversation: number;
  readonly id: string;
  readonly created_at: number;
  readonly metadata: string;
  readonly version: number;
  readonly end_position: number;
  readonly is_deleted: number;
}

/** An item of a conversation. */
export interface MovedEntryRow {
  readonly position: number;
  readonly is_given: number;
  readonly body: string;
}

/** A response with everything but its events; names as of `toKey`. */
export interface MovedResponseRow {
  readonly response: number;
  readonly session_id: string;
  readonly status: string;
  readonly expires_at: number;
  readonly origin: string | null;
  readonly body: string;
  readonly inherited: string | null;
  readonly input: string | null;
  readonly output: string | null;
  readonly output_with_given: string | null;
  readonly parent_id: string | null;
  /** The body of the response that it continues, or of the one that its session is named after, where an id is a digest. */
  readonly parent_body: string | null;
  readonly session_body: string | null;
  readonly conversation_id: string | null;
  readonly conversation_end: number | null;
  /** The sessions that it is in, JSON. */
  readonly sessions: string;
  /** Null: it never was in the background. */
  readonly turn: string | null;
  readonly is_stream: number | null;
  readonly attempts: number | null;
  readonly log_expires_at: number | null;
}

/** Reads everything of a file, a bounded part at a time: the rows after a number. */
export function moveOutOperations(database: DatabaseSync) {
  const owners = tenantNumbers(database);
  const tenants = database.prepare(
    `SELECT name FROM tenants t WHERE EXISTS (SELECT 1 FROM responses r WHERE r.owner = t.owner)
      OR EXISTS (SELECT 1 FROM conversations c WHERE c.owner = t.owner) ORDER BY owner`,
  );
  const conversations = database.prepare(
    `SELECT conversation, id, created_at, metadata, version, end_position, is_deleted FROM conversations
    WHERE owner = ?1 AND conversation > ?2 ORDER BY conversation`,
  );
  const entries = database.prepare(
    `SELECT position, is_given, body FROM conversation_items WHERE conversation = ?1 AND position > ?2 ORDER BY position`,
  );
  const bodyOfDigest = (key: string): string =>
    `CASE WHEN ${key} LIKE ' %' THEN (SELECT n.body FROM responses n WHERE n.owner = r.owner AND n.id = ${key}) END`;
  // What a response continues was stored before it, and has a smaller number. By the index of the owner all would be sorted for each part.
  const responses = database.prepare(
    `SELECT r.response, r.session_id, r.status, r.expires_at, r.origin, r.body, r.inherited, r.input, r.output,
      r.output_with_given, p.id AS parent_id, CASE WHEN p.id LIKE ' %' THEN p.body END AS parent_body,
      ${bodyOfDigest('r.session_id')} AS session_body, c.id AS conversation_id, r.conversation_end,
      ${SESSIONS} AS sessions, b.turn, b.is_stream, b.attempts, b.log_expires_at
    FROM responses r LEFT JOIN responses p ON p.response = r.parent LEFT JOIN runs b ON b.response = r.response
      LEFT JOIN conversations c ON c.conversation = r.conversation
    WHERE +r.owner = ?1 AND r.response > ?2 ORDER BY r.response`,
  );
  const jobs = database.prepare('SELECT number, queue, id, data FROM jobs WHERE number > ? ORDER BY number');

  return {
    /** The names of those that have something, JSON. */
    tenants: (): readonly string[] => tenants.all().map((row) => String(row['name'])),

    conversations: (tenant: string, after: number): readonly MovedConversationRow[] =>
      partOf(conversations, owners.find(tenant), after) as readonly MovedConversationRow[],

    entries: (conversation: number, after: number): readonly MovedEntryRow[] =>
      partOf(entries, conversation, after) as readonly MovedEntryRow[],

    /** Each after the one that it continues. */
    responses: (tenant: string, after: number): readonly MovedResponseRow[] =>
      partOf(responses, owners.find(tenant), after) as readonly MovedResponseRow[],

    jobs: (after: number): readonly (StoredJob & { readonly number: number })[] =>
      partOf(jobs, after) as readonly (StoredJob & { readonly number: number })[],
  };
}

/** The first rows of a statement. */
function partOf(statement: StatementSync, ...values: readonly number[]): unknown {
  const rows: unknown[] = [];
  let length = 0;
  for (const row of statement.iterate(...values)) {
    rows.push(row);
    for (const value of Object.values(row)) if (typeof value === 'string') length += value.length;
    if (rows.length === ROWS || length >= LENGTH) break;
  }
  return rows;
}
