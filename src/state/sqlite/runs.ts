import type { DatabaseSync } from 'node:sqlite';

import type { Tenant } from '../../access/index.js';
import {
  type BackgroundRuns,
  type Ending,
  type QueueBounds,
  readRun,
  toResponseRecord,
  toUnfinished,
} from '../background-runs.js';
import { ContextTooLargeError, QueueFullError, RunLostError, WriteLockLostError } from '../errors.js';
import type { RunName } from '../event-log.js';
import type { InProcessJobQueue } from '../in-process/jobs.js';
import type { InProcessLock } from '../in-process/locks.js';
import type { RunGate } from '../in-process/run-gate.js';
import { toKey } from '../keys.js';
import { type BatchColumns, readLog, toBatchColumns } from '../log-columns.js';
import type { ResponseStore } from '../response-store.js';
import { contextRecord, readItems, readOrigin, responseRecord, toBody } from '../stored-response.js';
import { conversationLock } from '../write-lock.js';
import type { ThreadGroup } from './executed.js';
import { type SqliteJobs, type StoredJob, toStoredJob, withId } from './jobs.js';
import type { SqliteEventLog, SqliteLog } from './log.js';
import {
  type NewResponse,
  type OutputTexts,
  type PlaceText,
  type SaveOutcome,
  toNewResponse,
  toOutputTexts,
  toPlace,
  toTexts,
} from './new-response.js';
import { bytesOf, itemEntering, toColumn, turnAppending, turnInput, turnOutput } from './statements/turn-items.js';
import { responseInsertion } from './statements/insert-response.js';
import { joinPath, type PathRow, pathStatement } from './statements/path.js';
import { lookValues, SUBTREE, tenantNumbers, VISIBLE } from './statements/visible.js';
import { usageRecording } from './usage.js';

/** The run of a response that is created. */
export interface NewRun {
  /** JSON. */
  readonly turn: string;
  readonly isStream: boolean;
  readonly opening: BatchColumns;
  readonly job: StoredJob;
}

/** The response that a run continues. */
export interface ParentRow {
  readonly id: string;
  readonly origin: string | null;
  readonly expires_at: number;
}

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

/** A run that has not ended. */
interface RunRow {
  readonly response: number;
  readonly owner: number;
  readonly parent: number | null;
  readonly session_id: string;
  readonly status: string;
  readonly input: string | null;
  readonly turn: string;
  readonly attempt: number;
  readonly attempts: number;
}

/** The life of background responses in SQLite. Names are as clients send them. */
export function sqliteRuns(
  database: DatabaseSync,
  now: () => number,
  maxBytes: number,
  log: SqliteLog,
  jobs: SqliteJobs,
) {
  const tenants = tenantNumbers(database);
  const insertResponse = responseInsertion(database, now);
  const appendTurn = turnAppending(database);
  const enterItems = itemEntering(database);
  const recordUsage = usageRecording(database);
  const insert = database.prepare('INSERT INTO runs (response, turn, is_stream) VALUES (?, ?, ?)');
  const queued = `FROM responses r INDEXED BY queued_responses WHERE r.status = 'queued' AND r.expires_at > 0`;
  const countAll = database.prepare(`SELECT count(*) AS count FROM (SELECT 1 ${queued} LIMIT ?)`);
  const countOf = database.prepare(`SELECT count(*) AS count FROM (SELECT 1 ${queued} AND r.owner = ? LIMIT ?)`);
  const find = database.prepare(
    `SELECT r.response, r.owner, r.parent, r.session_id, r.status, r.input, b.turn, b.attempt, b.attempts
    FROM tenants t JOIN responses r ON r.owner = t.owner JOIN runs b ON b.response = r.response
    WHERE t.key = ? AND r.id = ? AND r.expires_at > 0 AND b.log_expires_at IS NULL`,
  );
  const begin = database.prepare('UPDATE runs SET attempt = ?, attempts = attempts + 1 WHERE response = ?');
  const parent = database.prepare('SELECT id, origin, expires_at FROM responses WHERE response = ?');
  const path = database.prepare(pathStatement('r.response = ?1', []));
  const uncount = database.prepare('UPDATE runs SET attempts = attempts - 1 WHERE response = ?');
  const update = database.prepare(
    `UPDATE responses SET status = ?, expires_at = ?, origin = ?, size = ?, items_size = items_size + ?, body = ?,
      output = ?, output_with_given = ?, conversation = ?, conversation_end = ? WHERE response = ?`,
  );
  const close = database.prepare(`UPDATE runs SET log_expires_at = ?, turn = '' WHERE response = ?`);
  const findVisible = database.prepare(
    `SELECT r.response, r.body, b.turn, b.attempt, b.log_expires_at IS NULL AS is_running
    FROM responses r JOIN runs b ON b.response = r.response WHERE ${VISIBLE} AND r.id = ?4`,
  );
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
    create: (record: NewResponse, bounds: QueueBounds, run: NewRun): SaveOutcome => {
      requireRoom(tenants.find(record.tenant), bounds);
      const { outcome, response } = insertResponse(record);
      if (response === undefined) return outcome;
      insert.run(response, run.turn, run.isStream ? 1 : 0);
      log.insertBatch(response, run.opening);
      jobs.add([run.job]);
      return 'saved';
    },

    /** Begins an attempt, unless a later one has begun; it has begun also when its context is too large. Items are as `readItems` takes them. */
    start: (tenant: string, id: string, attempt: number) => {
      const run = findRun(tenant, id);
      if (run === undefined || run.attempt >= attempt) return undefined;
      const { response, status, session_id: sessionId, input, turn } = run;
      begin.run(attempt, response);
      const rows = path.all(response, null, null, null, maxBytes) as unknown as readonly PathRow[];
      if (rows.some(({ bytes }) => bytes > maxBytes)) return 'too large' as const;
      const before = rows.map((row) => (row.level === 0 ? { ...row, input: null, after: null } : row));
      return {
        turn,
        attempts: run.attempts + 1,
        isRestart: status !== 'queued' || run.attempts > 0,
        sessionId,
        input,
        context: joinPath(before),
        isInConversation: rows.some(({ conversation }) => conversation !== null),
        parent: run.parent === null ? null : (parent.get(run.parent) as unknown as ParentRow),
        log: log.whole(response),
      };
    },

    handBack: (tenant: string, id: string, attempt: number): void => {
      const run = findRun(tenant, id);
      if (run?.attempt === attempt) uncount.run(run.response);
    },

    /**
     * Ends a run; without an attempt, any may run. False when it has ended otherwise, or another attempt has started. Throws
     * ConversationChangedError.
     */
    end: (tenant: string, id: string, attempt: number | null, end: NewEnd): boolean => {
      const run = findRun(tenant, id);
      if (run === undefined || (attempt !== null && run.attempt !== attempt)) return false;
      const { response, owner } = run;
      const { output, given, body, conversation } = end;
      const after = turnOutput(end);
      let place = null;
      if (conversation !== null) {
        // What is stored has no ids beside it.
        const before = turnInput(toTexts(readItems(run.input, responseRecord(id))));
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
      log.insertBatch(response, end.log);
      close.run(end.logExpiresAt, response);
      if (end.usage !== null) recordUsage(end.usage);
      jobs.add(end.jobs);
      if (end.uselessJob !== null) jobs.ended(end.uselessJob);
      return true;
    },

    /** A background response that a client may see, with its log while it has not ended, and while the attempt, if one is meant, is the latest. */
    findOpen: (tenant: string, id: string, attempt: number | null, within?: string) => {
      const row = findVisible.get(...lookValues(tenants, tenant, now(), within), toKey(id));
      if (row === undefined) return undefined;
      const isOpen = row['is_running'] === 1 && (attempt === null || row['attempt'] === attempt);
      const batches = isOpen ? log.whole(Number(row['response'])) : [];
      return { isOpen, turn: String(row['turn']), body: String(row['body']), log: batches };
    },

    unfinished: (tenant: string, id: string, cascade: boolean, within?: string): readonly string[] => {
      const rows = unfinishedOf.all(...lookValues(tenants, tenant, now(), within), toKey(id), cascade ? 1 : 0);
      return rows.map((row) => String(row['id']));
    },

    /** The tenants as JSON, and the ids. */
    queuedBefore: (createdBefore: number, limit: number): readonly (readonly [tenant: string, id: string])[] => {
      // Without a limit, SQLite wants none.
      const rows = waiting.all(createdBefore / 1000, Number.isFinite(limit) ? limit : -1);
      return rows.map(({ tenant, id }) => [String(tenant), String(id)]);
    },
  };
}

/** What the runs of the process need. */
interface Parts {
  readonly thread: ThreadGroup<ReturnType<typeof sqliteRuns>>;
  readonly responses: Pick<ResponseStore, 'get'>;
  readonly sessionOf: (tenant: Tenant, responseId: string) => Promise<string | undefined>;
  readonly locks: InProcessLock;
  readonly log: SqliteEventLog;
  readonly queue: InProcessJobQueue;
  readonly gate: RunGate;
  readonly maxContextBytes: number;
}

/** Runs for the process, which has their jobs, and keeps writers apart: one waits while another ends the response from outside. */
export function runsOf(parts: Parts): BackgroundRuns {
  const { thread, responses, sessionOf, locks, log, queue, gate, maxContextBytes } = parts;
  /** Ends a run with what is enqueued then; whether it has done so. */
  const end = async ({ tenant, responseId }: RunName, attempt: number | null, ending: Ending): Promise<boolean> => {
    const jobs = ending.jobs.map(withId);
    const isEnded = await thread.call('end', tenant, responseId, attempt, toNewEnd(ending, jobs.map(toStoredJob)));
    if (isEnded) queue.add(jobs);
    return isEnded;
  };

  return {
    create: async (tenant, record, bounds) => {
      const { turn, isStream, opening, response, parentId } = record;
      const job = withId(record.job);
      const run = { turn, isStream, opening: toBatchColumns(opening), job: toStoredJob(job) };
      const whole = toResponseRecord(record);
      const store = (parent: string | null): Promise<SaveOutcome> =>
        thread.call('create', toNewResponse(tenant, whole, parent, response.store), bounds, run);
      // The parent was never stored, or is gone: what came before is stored with the response.
      if ((await store(parentId)) === 'unlinked') await store(null);
      queue.add([job]);
    },

    start: async (run) => {
      const started = await gate.pass(run, () => thread.call('start', run.tenant, run.responseId, run.attempt));
      if (started === undefined) return undefined;
      if (started === 'too large') throw new ContextTooLargeError(maxContextBytes, 'previous_response_id');
      const { input, context, isInConversation, parent, log: batches, ...rest } = started;
      return {
        ...rest,
        input: readItems(input, responseRecord(run.responseId)),
        context: readItems(context, contextRecord(run.responseId)),
        parent: parent && {
          responseId: parent.id,
          origin: readOrigin(parent.origin, responseRecord(parent.id)),
          isInConversation,
          expiresAt: parent.expires_at,
        },
        log: readLog(batches, run.responseId),
      };
    },

    handBack: (run) => gate.pass(run, () => thread.call('handBack', run.tenant, run.responseId, run.attempt)),

    /** Throws ConversationChangedError, too. */
    finish: async (run, ending) => {
      const { tenant, responseId, attempt } = run;
      const { conversation, fence } = ending;
      const isInSession = fence !== null && conversation === null;
      const session = isInSession ? await sessionOf(tenant, responseId) : undefined;
      const lock = conversation === null ? (session ?? responseId) : conversationLock(conversation.id);
      const isEnded = await gate.pass(run, async () => {
        if (fence !== null && !locks.isHeld(tenant, lock, fence)) throw new WriteLockLostError(lock);
        return end(run, attempt, ending);
      });
      if (!isEnded) throw new RunLostError(responseId);
      log.announce(responseId, ending.log.events);
    },

    conclude: async (tenant, responseId, compose, { within, attempt }) => {
      const run = { tenant, responseId };
      const ended = await gate.closeFor(run, async () => {
        const found = await thread.call('findOpen', tenant, responseId, attempt ?? null, within);
        if (found?.isOpen !== true) return found && 'unchanged';
        const ending = compose(toUnfinished(tenant, responseId, found, found.log));
        // Only a deletion can have come in between.
        if (ending === undefined || !(await end(run, null, ending))) return 'unchanged';
        if (ending.uselessJob !== undefined) queue.remove(ending.uselessJob);
        log.announceEnd(responseId, ending.log.events);
        return ending.response;
      });
      return ended === 'unchanged' ? responses.get(tenant, responseId, within) : ended;
    },

    unfinished: (tenant, responseId, { cascade }, within) =>
      thread.call('unfinished', tenant, responseId, cascade, within),

    queuedBefore: async (...asked) => (await thread.call('queuedBefore', ...asked)).flatMap((row) => readRun(...row)),
  };
}

function toNewEnd(ending: Ending, jobs: readonly StoredJob[]): NewEnd {
  const { response, origin, conversation, expiresAt, log, logExpiresAt, uselessJob } = ending;
  return {
    ...toOutputTexts(ending),
    status: response.status,
    body: toBody(response),
    origin: origin === null ? null : JSON.stringify(origin),
    conversation: conversation && toPlace(conversation),
    expiresAt,
    logExpiresAt,
    log: toBatchColumns(log),
    jobs,
    uselessJob: uselessJob?.id ?? null,
  };
}
