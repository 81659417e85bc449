import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../../keys.js';
import type { BatchColumns, BatchRow } from '../../log-columns.js';
import { readItems } from '../../stored-response.js';
import type { ItemText, OutputTexts, PlaceText } from '../new-response.js';
import { toTexts } from '../to-new-response.js';
import { usageRecording } from '../usage.js';
import { turnAppending } from './append-turn.js';
import type { EventLogOperations } from './log.js';
import type { JobOperations, StoredJob } from './jobs.js';
import { bytesOf, itemEntering, toColumn, turnInput, turnOutput } from './response-items.js';
import { tenantNumbers } from './tenants.js';
import { lookValues, VISIBLE } from './visible.js';

/** The end of a run. */
export interface NewEnd extends OutputTexts {
  readonly status: string;
  /** The Response without its output. */
  readonly body: string;
  readonly origin: string | null;
  readonly conversation: PlaceText | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly logExpiresAt: number;
  readonly log: BatchColumns;
  readonly jobs: readonly StoredJob[];
  /** A job that is of no use any more. */
  readonly uselessJob: string | null;
}

/** A background response that may be ended from outside of its run. */
export interface OpenRun {
  /** Whether it has not ended, and the attempt, if one is meant, is the latest. */
  readonly isOpen: boolean;
  readonly turn: string;
  readonly body: string;
  readonly log: readonly BatchRow[];
}

interface RunRow {
  readonly response: number;
  readonly owner: number;
  readonly attempt: number;
}

/** The ends of background responses. Names are as clients send them. */
export function runEndOperations(
  database: DatabaseSync,
  now: () => number,
  { insertBatch, whole: readLog }: EventLogOperations,
  jobs: JobOperations,
) {
  const tenants = tenantNumbers(database);
  const appendTurn = turnAppending(database);
  const enterItems = itemEntering(database);
  const recordUsage = usageRecording(database);
  const find = database.prepare(
    `SELECT r.response, r.owner, b.attempt
    FROM tenants t JOIN responses r ON r.owner = t.owner JOIN runs b ON b.response = r.response
    WHERE t.key = ? AND r.id = ? AND r.expires_at > 0 AND b.log_expires_at IS NULL`,
  );
  const findVisible = database.prepare(
    `SELECT r.response, r.body, b.turn, b.attempt, b.log_expires_at IS NULL AS is_running
    FROM responses r JOIN runs b ON b.response = r.response WHERE ${VISIBLE} AND r.id = ?4`,
  );
  const session = database.prepare(
    'SELECT r.session_id FROM tenants t JOIN responses r ON r.owner = t.owner WHERE t.key = ? AND r.id = ?',
  );
  const readInput = database.prepare('SELECT input FROM responses WHERE response = ?');
  const update = database.prepare(
    `UPDATE responses SET status = ?, expires_at = ?, origin = ?, size = ?, items_size = items_size + ?, body = ?,
      output = ?, output_with_given = ?, conversation = ?, conversation_end = ? WHERE response = ?`,
  );
  const close = database.prepare(`UPDATE runs SET log_expires_at = ?, turn = '' WHERE response = ?`);

  /** The input items of a response, which are stored without their ids. */
  const inputOf = (response: number): readonly ItemText[] =>
    toTexts(readItems(readInput.get(response)?.['input'] as string | null));
  return {
    /** The key of the session of a response, which never changes. */
    sessionOf: (tenant: string, id: string): string | undefined =>
      session.get(toKey(tenant), toKey(id))?.['session_id'] as string | undefined,

    /**
     * Ends a run; without an attempt, any may run. False when it has ended otherwise, or another attempt has started. Throws
     * ConversationChangedError.
     */
    end: (tenant: string, id: string, attempt: number | null, end: NewEnd): boolean => {
      const run = find.get(toKey(tenant), toKey(id)) as unknown as RunRow | undefined;
      if (run === undefined || (attempt !== null && run.attempt !== attempt)) return false;
      const { response, owner } = run;
      const { output, given, body, conversation } = end;
      const after = turnOutput(end);
      let place = null;
      if (conversation !== null) {
        const before = turnInput(inputOf(response));
        place = appendTurn(owner, conversation, [...before, ...after], bytesOf(before) + bytesOf(after));
      }
      update.run(
        end.status,
        end.expiresAt,
        end.origin,
        Buffer.byteLength(body) + bytesOf(output),
        bytesOf(after),
        body,
        toColumn(output),
        given.length === 0 ? null : toColumn(after),
        place?.conversation ?? null,
        place?.start ?? null,
        response,
      );
      enterItems(owner, response, 'output', output);
      insertBatch(response, end.log);
      close.run(end.logExpiresAt, response);
      if (end.usage !== null) recordUsage(end.usage);
      jobs.add(end.jobs);
      if (end.uselessJob !== null) jobs.remove(end.uselessJob);
      return true;
    },

    /** A background response that a client may see, with its log while it is open. */
    findOpen: (tenant: string, id: string, attempt: number | null, within?: string): OpenRun | undefined => {
      const row = findVisible.get(...lookValues(tenants, tenant, now(), within), toKey(id));
      if (row === undefined) return undefined;
      const isOpen = row['is_running'] === 1 && (attempt === null || row['attempt'] === attempt);
      const log = isOpen ? readLog(Number(row['response'])) : [];
      return { isOpen, turn: String(row['turn']), body: String(row['body']), log };
    },
  };
}
