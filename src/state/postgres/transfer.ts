import type { Tenant } from '../../access/index.js';
import { batchesOf } from '../event-log.js';
import { jobRecord, type QueueName } from '../job-queue.js';
import { toKey } from '../keys.js';
import {
  type MovedConversation,
  type MovedEntries,
  type MovedJob,
  type MovedRecord,
  type MovedResponse,
  StateTransfer,
} from '../state-transfer.js';
import { readLog, toBatchColumns } from '../log-columns.js';
import { readRecord } from '../read-record.js';
import { inParts, toMovedEntry, withoutParent } from '../moving.js';
import type { RunStatement } from '../sql/statement.js';
import type { Database } from './database.js';
import { tenantOf, toMovedColumns, toMovedConversation, toMovedResponse, toTime } from './moved-rows.js';
import type { PostgresJobQueue } from './jobs.js';
import { WHOLE_LOG } from './statements/runs.js';
import {
  ALL_SECRETS,
  CONVERSATIONS_AFTER,
  ENTRIES_AFTER,
  MOVE_CONVERSATION,
  MOVE_ENTRIES,
  MOVE_RESPONSE,
  MOVE_RUN,
  MOVED_RESPONSES,
  type MovedConversationRow,
  NEXT_JOBS,
  NEXT_RESPONSES,
  OPEN_JOBS,
  OPEN_RESPONSES,
  TENANTS,
} from './statements/transfer.js';

/** Most rows that are read at once, and most bytes, unless one alone has more. */
const ROWS = 500;
const BYTES = 8 * 1024 * 1024;

/** Moves what is in the database. */
export class PostgresTransfer extends StateTransfer {
  constructor(
    private readonly database: Database,
    private readonly queue: PostgresJobQueue,
  ) {
    super();
  }

  override async tenants(): Promise<readonly Tenant[]> {
    const rows = await Array.fromAsync(this.database.snapshot((run) => yieldAll(run(TENANTS, []))));
    return rows.map(({ owner, name }) => tenantOf(owner, name));
  }

  override read(tenant: Tenant): AsyncIterable<MovedRecord> {
    const owner = toKey(tenant);
    return this.database.snapshot<MovedRecord>(async function* (run) {
      yield* readConversations(run, owner);
      yield* readResponses(run, owner);
    });
  }

  override jobs(): AsyncIterable<MovedJob> {
    return this.database.snapshot(async function* (run): AsyncGenerator<MovedJob> {
      await run(OPEN_JOBS, []);
      for (let rows = await run(NEXT_JOBS, []); rows.length > 0; rows = await run(NEXT_JOBS, [])) {
        for (const { id, name, body } of rows) {
          const job = { queue: name as QueueName, id };
          yield { kind: 'job', ...job, data: readRecord(body, jobRecord(job)) };
        }
      }
    });
  }

  override async secrets(): Promise<Readonly<Record<string, string>>> {
    const rows = await this.database.repeatable(ALL_SECRETS, []);
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  }

  override write(tenant: Tenant, records: readonly MovedRecord[]): Promise<number> {
    return this.database.transaction(async (run) => {
      let count = 0;
      for (const record of records) if (await writeRecord(run, tenant, record)) count += 1;
      return count;
    });
  }

  override async writeJobs(jobs: readonly MovedJob[]): Promise<void> {
    // Each in a transaction of its own: the time when that began is their order.
    for (const job of jobs) await this.database.transaction((run) => this.queue.enqueue(run, [job]));
  }
}

async function* yieldAll<T>(rows: Promise<readonly T[]>): AsyncGenerator<T> {
  yield* await rows;
}

async function* readConversations(run: RunStatement, owner: string): AsyncGenerator<MovedRecord> {
  let rows: readonly MovedConversationRow[] = await run(CONVERSATIONS_AFTER, [owner, null, ROWS]);
  for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
    for (const row of rows) {
      const conversation = toMovedConversation(row);
      yield conversation;
      yield* readEntries(run, owner, row.id, conversation);
    }
    rows = await run(CONVERSATIONS_AFTER, [owner, last.id, ROWS]);
  }
}

async function* readEntries(
  run: RunStatement,
  owner: string,
  key: string,
  { record, version }: MovedConversation,
): AsyncGenerator<MovedEntries> {
  let position = '-1';
  for (;;) {
    const rows = await run(ENTRIES_AFTER, [owner, key, position, ROWS, BYTES]);
    const last = rows.at(-1);
    if (last === undefined) return;
    const entries = rows.map((row) => toMovedEntry(record.id, Number(row.position), row.is_given, row.body));
    yield { kind: 'entries', conversationId: record.id, version, entries };
    position = last.position;
  }
}

async function* readResponses(run: RunStatement, owner: string): AsyncGenerator<MovedResponse> {
  await run(OPEN_RESPONSES, [owner]);
  for (let rows = await run(NEXT_RESPONSES, []); rows.length > 0; rows = await run(NEXT_RESPONSES, [])) {
    for (const part of inParts(rows, ROWS, BYTES)) {
      for (const row of await run(MOVED_RESPONSES, [owner, part.map(({ id }) => id)])) {
        yield toMovedResponse(row, readLog(row.turn === null ? [] : await run(WHOLE_LOG, [owner, row.id]), row.id));
      }
    }
  }
}

/** Whether it is a new response or conversation. */
async function writeRecord(run: RunStatement, tenant: Tenant, record: MovedRecord): Promise<boolean> {
  const owner = toKey(tenant);
  if (record.kind === 'conversation') return writeConversation(run, owner, record);
  if (record.kind === 'response') return writeResponse(run, tenant, record);
  const { conversationId, version, entries } = record;
  await run(MOVE_ENTRIES, [
    owner,
    toKey(conversationId),
    version,
    entries.map(({ position }) => position),
    entries.map(({ isGiven }) => isGiven),
    entries.map(({ item }) => toKey(item.id)),
    entries.map(({ item }) => JSON.stringify(item)),
  ]);
  return false;
}

async function writeConversation(run: RunStatement, owner: string, moved: MovedConversation): Promise<boolean> {
  const { id, createdAt, metadata } = moved.record;
  const about = [new Date(createdAt * 1000), JSON.stringify(metadata)] as const;
  const rows = await run(MOVE_CONVERSATION, [owner, toKey(id), ...about, moved.version, moved.end, moved.isDeleted]);
  return rows.length > 0;
}

async function writeResponse(run: RunStatement, tenant: Tenant, moved: MovedResponse): Promise<boolean> {
  const { run: background } = moved;
  const values = toMovedColumns(toKey(tenant), moved);
  const [row] = await run(MOVE_RESPONSE, values);
  if (row?.linked !== true) throw withoutParent(moved);
  if (!row.is_new || background === null) return row.is_new;
  const { turn, isStream, attempts, logExpiresAt, log } = background;
  const end = logExpiresAt === null ? null : toTime(logExpiresAt);
  const [owner, id] = values;
  const batches = [...batchesOf(log)].map(toBatchColumns);
  await run(MOVE_RUN, [
    ...([owner, id, JSON.stringify(tenant), turn, isStream, attempts, end] as const),
    batches.map(([firstEvent]) => firstEvent),
    batches.map(([, firstNote]) => firstNote),
    batches.map(([, , events]) => events),
    batches.map(([, , , notes]) => notes),
    batches.map(([, , , , hasItems]) => hasItems),
  ]);
  return true;
}
