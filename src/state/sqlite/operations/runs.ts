import type { DatabaseSync } from 'node:sqlite';

import type { QueueBounds } from '../../background-runs.js';
import { QueueFullError } from '../../errors.js';
import { toKey } from '../../keys.js';
import type { BatchColumns, BatchRow } from '../../log-columns.js';
import type { NewResponse, SaveOutcome } from '../new-response.js';
import { joinPath, type PathRow, pathStatement } from './path.js';
import type { EventLogOperations } from './log.js';
import { responseInsertion } from './insert-response.js';
import type { JobOperations, StoredJob } from './jobs.js';
import { tenantNumbers } from './tenants.js';
import { lookValues, SUBTREE } from './visible.js';

/** The run of a response that is created. */
export interface NewRun {
  /** JSON. */
  readonly turn: string;
  readonly isStream: boolean;
  readonly opening: BatchColumns;
  readonly job: StoredJob;
}

/** A run that has started; items are comma-separated JSON texts, null without any. */
export interface StartedRow {
  readonly turn: string;
  readonly attempts: number;
  readonly isRestart: boolean;
  readonly sessionId: string;
  readonly input: string | null;
  /** The items before the input. */
  readonly context: string | null;
  readonly isInConversation: boolean;
  readonly parent: { readonly id: string; readonly origin: string | null; readonly expires_at: number } | null;
  readonly log: readonly BatchRow[];
}

/** What another step of a run needs. */
interface RunRow {
  readonly response: number;
  readonly parent: number | null;
  readonly session_id: string;
  readonly status: string;
  readonly input: string | null;
  readonly turn: string;
  readonly attempt: number;
  readonly attempts: number;
}

/** Background responses until they end. Names are as clients send them. */
export function runOperations(
  database: DatabaseSync,
  now: () => number,
  { insertBatch, whole: readLog }: EventLogOperations,
  jobs: JobOperations,
) {
  const tenants = tenantNumbers(database);
  const insertResponse = responseInsertion(database, now);
  const insert = database.prepare('INSERT INTO runs (response, turn, is_stream) VALUES (?, ?, ?)');
  const queued = `FROM responses r INDEXED BY queued_responses WHERE r.status = 'queued' AND r.expires_at > 0`;
  const countAll = database.prepare(`SELECT count(*) AS count FROM (SELECT 1 ${queued} LIMIT ?)`);
  const countOf = database.prepare(`SELECT count(*) AS count FROM (SELECT 1 ${queued} AND r.owner = ? LIMIT ?)`);
  const find = database.prepare(
    `SELECT r.response, r.parent, r.session_id, r.status, r.input, b.turn, b.attempt, b.attempts
    FROM tenants t JOIN responses r ON r.owner = t.owner JOIN runs b ON b.response = r.response
    WHERE t.key = ? AND r.id = ? AND r.expires_at > 0 AND b.log_expires_at IS NULL`,
  );
  const begin = database.prepare('UPDATE runs SET attempt = ?, attempts = attempts + 1 WHERE response = ?');
  const uncount = database.prepare('UPDATE runs SET attempts = attempts - 1 WHERE response = ?');
  const parent = database.prepare('SELECT id, origin, expires_at FROM responses WHERE response = ?');
  const path = database.prepare(pathStatement('r.response = ?1', []));
  const unfinishedOf = database.prepare(
    `WITH RECURSIVE ${SUBTREE}
    SELECT r.id FROM subtree CROSS JOIN runs b ON b.response = subtree.response CROSS JOIN responses r ON r.response = b.response
    WHERE b.log_expires_at IS NULL AND r.expires_at > 0`,
  );
  const waiting = database.prepare(
    `SELECT (SELECT name FROM tenants t WHERE t.owner = r.owner) AS tenant, r.id ${queued} AND r.created_at < ?
    ORDER BY r.created_at, r.response LIMIT ?`,
  );

  const findRun = (tenant: string, id: string): RunRow | undefined =>
    find.get(toKey(tenant), toKey(id)) as unknown as RunRow | undefined;
  const requireRoom = (owner: number, { total, perTenant }: QueueBounds): void => {
    if (Number(countAll.get(total)?.['count']) >= total) throw new QueueFullError('total');
    if (Number(countOf.get(owner, perTenant)?.['count']) >= perTenant) throw new QueueFullError('perTenant');
  };
  return {
    /** Stores a queued response with its first events and its job. Throws QueueFullError and SessionFullError. */
    create: (record: NewResponse, bounds: QueueBounds, run: NewRun): SaveOutcome => {
      requireRoom(tenants.find(record.tenant), bounds);
      const { outcome, response } = insertResponse(record);
      if (response === undefined) return outcome;
      insert.run(response, run.turn, run.isStream ? 1 : 0);
      insertBatch(response, run.opening);
      jobs.add([run.job]);
      return 'saved';
    },

    /** Begins an attempt, unless a later one has begun; it has begun also when its context is too large. */
    start: (tenant: string, id: string, attempt: number, maxBytes: number): StartedRow | 'too large' | undefined => {
      const run = findRun(tenant, id);
      if (run === undefined || run.attempt >= attempt) return undefined;
      const { response, status, session_id: sessionId, input, turn } = run;
      begin.run(attempt, response);
      const rows = path.all(response, null, null, null, maxBytes) as unknown as readonly PathRow[];
      if (rows.some(({ bytes }) => bytes > maxBytes)) return 'too large';
      const before = rows.map((row) => (row.level === 0 ? { ...row, input: null, after: null } : row));
      return {
        turn,
        attempts: run.attempts + 1,
        isRestart: status !== 'queued' || run.attempts > 0,
        sessionId,
        input,
        context: joinPath(before),
        isInConversation: rows.some(({ conversation }) => conversation !== null),
        parent: run.parent === null ? null : (parent.get(run.parent) as unknown as StartedRow['parent']),
        log: readLog(response),
      };
    },

    /** Does not count an attempt. */
    handBack: (tenant: string, id: string, attempt: number): void => {
      const run = findRun(tenant, id);
      if (run?.attempt === attempt) uncount.run(run.response);
    },

    /** The unfinished ones of a response and, with `cascade`, of all that continue it. */
    unfinished: (tenant: string, id: string, cascade: boolean, within?: string): readonly string[] => {
      const rows = unfinishedOf.all(...lookValues(tenants, tenant, now(), within), toKey(id), cascade ? 1 : 0);
      return rows.map((row) => String(row['id']));
    },

    /** Queued responses that were created before a time, oldest first; tenants as JSON. */
    queuedBefore: (createdBefore: number, limit: number): readonly { readonly tenant: string; readonly id: string }[] =>
      waiting.all(createdBefore / 1000, limit) as unknown as readonly {
        readonly tenant: string;
        readonly id: string;
      }[],
  };
}
