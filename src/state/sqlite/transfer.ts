import type { Tenant } from '../../access/index.js';
import type { InProcessJobQueue } from '../in-process/jobs.js';
import { readLog } from '../log-columns.js';
import { type MovedJob, type MovedRecord, StateTransfer, StateTransferError } from '../state-transfer.js';
import type { DatabaseThread } from './database-thread.js';
import { toMovedConversation, toMovedEntries, toMovedResponse, toMovedText } from './moved-texts.js';
import { toStoredJob } from './jobs.js';

/** Moves what is in the file: this process alone has it, so that nothing changes meanwhile. */
export class SqliteTransfer extends StateTransfer {
  constructor(
    private readonly thread: DatabaseThread,
    private readonly queue: InProcessJobQueue,
  ) {
    super();
  }

  override async tenants(): Promise<readonly Tenant[]> {
    return (await this.thread.call('transfer.tenants')).map((name) => JSON.parse(name) as Tenant);
  }

  override async *read(tenant: Tenant): AsyncGenerator<MovedRecord> {
    const { thread } = this;
    const conversations = partsOf(
      (after) => thread.call('transfer.conversations', tenant, after),
      (row) => row.conversation,
    );
    for await (const row of conversations) {
      const conversation = toMovedConversation(row);
      yield conversation;
      for (let after = -1; ;) {
        const rows = await thread.call('transfer.entries', row.conversation, after);
        const last = rows.at(-1);
        if (last === undefined) break;
        yield toMovedEntries(conversation, rows);
        after = last.position;
      }
    }
    const responses = partsOf(
      (after) => thread.call('transfer.responses', tenant, after),
      (row) => row.response,
    );
    for await (const row of responses) {
      yield toMovedResponse(row, readLog(row.turn === null ? [] : await thread.call('log.whole', row.response)));
    }
  }

  override async *jobs(): AsyncGenerator<MovedJob> {
    const jobs = partsOf(
      (after) => this.thread.call('transfer.jobs', after),
      (row) => row.number,
    );
    for await (const { queue, id, data } of jobs) yield { kind: 'job', queue, id, data: JSON.parse(data) as object };
  }

  override secrets(): Promise<Readonly<Record<string, string>>> {
    return this.thread.call('secrets.all');
  }

  override async write(tenant: Tenant, records: readonly MovedRecord[]): Promise<number> {
    const moved = await this.thread.call(
      'transfer.write',
      tenant,
      records.map((record) => toMovedText(tenant, record)),
    );
    if ('added' in moved) return moved.added;
    throw toRefusal(records[moved.refused]);
  }

  override async writeJobs(jobs: readonly MovedJob[]): Promise<void> {
    const added = new Set(await this.thread.call('jobs.add', jobs.map(toStoredJob)));
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
  const { response, parentId, place } = record;
  return new StateTransferError(
    parentId === null
      ? `the response ${response.id} is in ${place?.conversationId}, which is not there`
      : `the response ${response.id} continues ${parentId}, which is not there`,
  );
}
