import type { DatabaseSync, StatementSync } from 'node:sqlite';

import type { Tenant } from '../../access/index.js';
import { DamagedRecordError } from '../errors.js';
import type { InProcessJobQueue } from '../in-process/jobs.js';
import { jobRecord } from '../job-queue.js';
import { toKey } from '../keys.js';
import { readLog } from '../log-columns.js';
import { withoutConversation, withoutParent } from '../moving.js';
import { readRecord } from '../read-record.js';
import { type MovedJob, type MovedRecord, StateTransfer, StateTransferError } from '../state-transfer.js';
import type { ThreadGroup } from './executed.js';
import { type SqliteJobs, type StoredJob, toStoredJob } from './jobs.js';
import type { SqliteLog } from './log.js';
import {
  type MovedConversationRow,
  type MovedConversationText,
  type MovedEntriesText,
  type MovedEntryRow,
  type MovedResponseRow,
  type MovedResponseText,
  type MovedText,
  toMovedConversation,
  toMovedEntries,
  toMovedResponse,
  toMovedText,
} from './moved-rows.js';
import { responseNumbers, responseStoring } from './statements/insert-response.js';
import { SESSIONS } from './statements/leave-sessions.js';
import { tenantNumbers } from './statements/visible.js';
import type { AllSecrets } from './secrets.js';

/** Most rows that are read at once, and most characters, unless one row alone has more. */
const ROWS = 500;
const LENGTH = 8 * 1024 * 1024;

/** How many were new; or which record refers to something that is not there, and then nothing is stored. */
export type MovedIn = { readonly added: number } | { readonly refused: number };

/** Everything in SQLite: it is read in bounded parts, the rows after a number, and stored as it is; what exists already stays unchanged. */
export function sqliteTransfer(database: DatabaseSync, log: SqliteLog) {
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
    `SELECT r.response, r.id, r.session_id, r.status, r.expires_at, r.origin, r.body, r.inherited, r.input, r.output,
      r.output_with_given, p.id AS parent_id, CASE WHEN p.id LIKE ' %' THEN p.body END AS parent_body,
      ${bodyOfDigest('r.session_id')} AS session_body, c.id AS conversation_id, r.conversation_end,
      ${SESSIONS} AS sessions, b.turn, b.is_stream, b.attempts, b.log_expires_at
    FROM responses r LEFT JOIN responses p ON p.response = r.parent LEFT JOIN runs b ON b.response = r.response
      LEFT JOIN conversations c ON c.conversation = r.conversation
    WHERE +r.owner = ?1 AND r.response > ?2 ORDER BY r.response`,
  );
  const jobs = database.prepare('SELECT number, queue, id, data FROM jobs WHERE number > ? ORDER BY number');

  const numberOf = responseNumbers(database);
  const store = responseStoring(database);
  const insertConversation = database.prepare(
    `INSERT INTO conversations (owner, id, created_at, metadata, version, end_position, items_size, is_deleted)
    VALUES (?, ?, ?, ?, ?, ?, 0, ?) ON CONFLICT DO NOTHING`,
  );
  const findConversation = database.prepare(
    'SELECT conversation, version FROM conversations WHERE owner = ? AND id = ?',
  );
  const insertEntry = database.prepare(
    `INSERT OR IGNORE INTO conversation_items (conversation, position, is_given, owner, key, body)
    VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const grow = database.prepare('UPDATE conversations SET items_size = items_size + ? WHERE conversation = ?');
  const leave = database.prepare('DELETE FROM session_responses WHERE owner = ? AND session_id = ? AND response = ?');
  const join = database.prepare('INSERT OR IGNORE INTO session_responses VALUES (?, ?, ?, ?, ?, 1)');
  const insertRun = database.prepare(
    'INSERT INTO runs (response, turn, is_stream, attempts, log_expires_at) VALUES (?, ?, ?, ?, ?)',
  );

  const conversationOf = (owner: number, id: string) =>
    findConversation.get(owner, toKey(id)) as { readonly conversation: number; readonly version: number } | undefined;

  /** The index of the first record that refers to something that is neither stored nor among the records before it. */
  const findRefused = (owner: number, records: readonly MovedText[]): number => {
    const responses = new Set<string>();
    const conversations = new Set<string>();
    return records.findIndex((moved) => {
      if (moved.kind === 'conversation') conversations.add(moved.id);
      if (moved.kind !== 'response') return false;
      const { record, place } = moved;
      const isLinked =
        record.parentId === null ||
        responses.has(record.parentId) ||
        numberOf(owner, record.parentId) !== undefined ||
        numberOf(owner, record.id) !== undefined;
      const isPlaced =
        place === null ||
        conversations.has(place.conversationId) ||
        conversationOf(owner, place.conversationId) !== undefined;
      responses.add(record.id);
      return !isLinked || !isPlaced;
    });
  };

  const addConversation = (owner: number, moved: MovedConversationText): boolean => {
    const { id, createdAt, metadata, version, end, isDeleted } = moved;
    return insertConversation.run(owner, toKey(id), createdAt, metadata, version, end, isDeleted ? 1 : 0).changes > 0;
  };

  const addEntries = (owner: number, { conversationId, version, entries }: MovedEntriesText): false => {
    const found = conversationOf(owner, conversationId);
    if (found?.version !== version) return false;
    let size = 0;
    for (const { position, isGiven, id, text } of entries) {
      const { changes } = insertEntry.run(found.conversation, position, isGiven ? 1 : 0, owner, toKey(id), text);
      if (changes > 0) size += Buffer.byteLength(text);
    }
    grow.run(size, found.conversation);
    return false;
  };

  const addResponse = (owner: number, { record, place, sessions, run }: MovedResponseText): boolean => {
    const { id, parentId, sessionId, createdAt } = record;
    const parent = parentId === null ? null : (numberOf(owner, parentId) ?? null);
    const conversation = place && conversationOf(owner, place.conversationId)?.conversation;
    const stands = place === null || conversation == null ? null : { conversation, start: place.before };
    const response = store(record, owner, parent, stands);
    if (response === undefined) return false;
    if (!sessions.includes(sessionId)) leave.run(owner, toKey(sessionId), response);
    for (const name of sessions) if (name !== sessionId) join.run(owner, toKey(name), createdAt, toKey(id), response);
    if (run === null) return true;
    insertRun.run(response, run.turn, run.isStream ? 1 : 0, run.attempts, run.logExpiresAt);
    for (const batch of run.log) log.insertBatch(response, batch);
    return true;
  };

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

    events: (response: number) => log.whole(response),

    jobs: (after: number): readonly (StoredJob & { readonly number: number })[] =>
      partOf(jobs, after) as readonly (StoredJob & { readonly number: number })[],

    write: (tenant: string, records: readonly MovedText[]): MovedIn => {
      const owner = owners.findOrCreate(tenant);
      const refused = findRefused(owner, records);
      if (refused >= 0) return { refused };
      const added = records.filter((moved) => {
        if (moved.kind === 'conversation') return addConversation(owner, moved);
        return moved.kind === 'entries' ? addEntries(owner, moved) : addResponse(owner, moved);
      });
      return { added: added.length };
    },
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

/** Moves what is in the file: this process alone has it, so that nothing changes meanwhile. */
export class SqliteTransfer extends StateTransfer {
  constructor(
    private readonly thread: ThreadGroup<ReturnType<typeof sqliteTransfer>>,
    private readonly stored: { readonly jobs: ThreadGroup<SqliteJobs>; readonly secrets: ThreadGroup<AllSecrets> },
    private readonly queue: InProcessJobQueue,
  ) {
    super();
  }

  override async tenants(): Promise<readonly Tenant[]> {
    return (await this.thread.call('tenants')).map((name) => JSON.parse(name) as Tenant);
  }

  override async *read(tenant: Tenant): AsyncGenerator<MovedRecord> {
    const { thread } = this;
    const conversations = partsOf(
      (after) => thread.call('conversations', tenant, after),
      (row) => row.conversation,
    );
    for await (const row of conversations) {
      const conversation = this.decode(`row ${row.conversation} of conversations`, () => toMovedConversation(row));
      yield conversation;
      for (let after = -1; ;) {
        const rows = await thread.call('entries', row.conversation, after);
        const last = rows.at(-1);
        if (last === undefined) break;
        const place = `items after ${after} of ${conversation.record.id}`;
        yield this.decode(place, () => toMovedEntries(conversation, rows));
        after = last.position;
      }
    }
    const responses = partsOf(
      (after) => thread.call('responses', tenant, after),
      (row) => row.response,
    );
    for await (const row of responses) {
      const batches = row.turn === null ? [] : await thread.call('events', row.response);
      yield this.decode(`row ${row.response} of responses`, () => toMovedResponse(row, readLog(batches, row.id)));
    }
  }

  /** Throws StateTransferError for text that cannot be parsed, with the place of it: who exports may be about to leave a damaged file. */
  private decode<T>(place: string, read: () => T): T {
    try {
      return read();
    } catch (cause) {
      if (!(cause instanceof DamagedRecordError)) throw cause;
      throw new StateTransferError(`${place}: ${cause.message}`, { cause });
    }
  }

  override async *jobs(): AsyncGenerator<MovedJob> {
    const jobs = partsOf(
      (after) => this.thread.call('jobs', after),
      (row) => row.number,
    );
    for await (const { number, queue, id, data } of jobs) {
      yield {
        kind: 'job',
        queue,
        id,
        data: this.decode(`row ${number} of jobs`, () => readRecord(data, jobRecord({ queue, id }))),
      };
    }
  }

  override secrets(): Promise<Readonly<Record<string, string>>> {
    return this.stored.secrets.call('all');
  }

  override async write(tenant: Tenant, records: readonly MovedRecord[]): Promise<number> {
    const moved = await this.thread.call(
      'write',
      tenant,
      records.map((record) => toMovedText(tenant, record)),
    );
    if ('added' in moved) return moved.added;
    throw toRefusal(records[moved.refused]);
  }

  override async writeJobs(jobs: readonly MovedJob[]): Promise<void> {
    const added = new Set(await this.stored.jobs.call('add', jobs.map(toStoredJob)));
    this.queue.add(jobs.filter(({ id }) => added.has(id)));
  }
}

/** The rows of all parts; each part has those after the number of the last row before. */
async function* partsOf<Row>(
  read: (after: number) => Promise<readonly Row[]>,
  numberOf: (row: Row) => number,
): AsyncGenerator<Row> {
  for (let after = 0; ;) {
    const rows = await read(after);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield* rows;
    after = numberOf(last);
  }
}

function toRefusal(record: MovedRecord | undefined): StateTransferError {
  if (record?.kind !== 'response') return new StateTransferError('a record refers to what is not there');
  return record.parentId === null ? withoutConversation(record) : withoutParent(record);
}
