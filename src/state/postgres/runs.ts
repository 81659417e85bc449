import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import {
  BackgroundRuns,
  type Ending,
  type QueueBounds,
  type QueuedRecord,
  type StartedRun,
  toResponseRecord,
  toUnfinished,
  readRun,
} from '../background-runs.js';
import { ContextTooLargeError, QueueFullError, RunLostError, WriteLockLostError } from '../errors.js';
import type { Run, RunName } from '../event-log.js';
import type { DeleteOptions } from '../response-store.js';
import { conversationLock } from '../write-lock.js';
import { contextRecord, readItems, readOrigin, responseRecord } from '../stored-response.js';
import { toKey } from '../keys.js';
import { readLog, toBatchColumns } from '../log-columns.js';
import { toEndColumns } from './columns.js';
import { changedConversation, type PostgresResponseStore } from './responses.js';
import type { RunStatement } from '../sql/statement.js';
import type { Database } from './database.js';
import type { PostgresEventLog } from './log.js';
import type { PostgresJobQueue } from './jobs.js';
import {
  CONTEXT,
  COUNT_QUEUED,
  CREATE_RUN,
  END,
  type EndValues,
  HAND_BACK,
  HOLD_QUEUE,
  HOLD_RUN,
  IS_LOGGED,
  NOTIFY_ENDED,
  PARENT,
  QUEUED_BEFORE,
  START,
  UNFINISHED_OF,
  WHOLE_LOG,
} from './statements/runs.js';
import { toUsageRow } from './usage.js';
import { viewerOf } from './statements/visible.js';

/** A queue with less room than this is nearly full: more responses may be created at once than would fit. */
const QUEUE_MARGIN = 100;

type Names = readonly [tenant: string, responseId: string];

/** The life of background responses in PostgreSQL: created, started, ended. */
export class PostgresRuns extends BackgroundRuns {
  constructor(
    private readonly database: Database,
    private readonly responses: PostgresResponseStore,
    private readonly log: PostgresEventLog,
    private readonly jobs: PostgresJobQueue,
    private readonly clock: Clock,
    private readonly maxContextBytes: number,
  ) {
    super();
  }

  override create(tenant: Tenant, record: QueuedRecord, bounds: QueueBounds): Promise<void> {
    const { turn, isStream, response, opening, job } = record;
    const names = namesOf({ tenant, responseId: response.id });
    return this.database.transaction(async (run) => {
      await this.requireRoom(run, names[0], bounds);
      await this.responses.insertWhole(run, tenant, toResponseRecord(record));
      const values = [JSON.stringify(tenant), turn, isStream, response.store, ...toBatchColumns(opening)] as const;
      await run(CREATE_RUN, [...names, ...values]);
      await this.jobs.enqueue(run, [job]);
    });
  }

  override async start(run: Run): Promise<StartedRun | undefined> {
    const names = namesOf(run);
    const [started] = await this.database.query(START, [...names, this.now(), run.attempt]);
    if (started === undefined) return undefined;
    const reading = Promise.all([
      this.database.repeatable(WHOLE_LOG, names),
      this.database.repeatable(CONTEXT, [...names, this.maxContextBytes]),
      this.parent(names[0], started.parent_id),
    ]);
    const [log, [context], parent] = await reading.catch(async (error: unknown) => {
      // The attempt failed before it began.
      await this.handBack(run);
      throw error;
    });
    // The response was deleted meanwhile.
    if (context === undefined || context.too_large === null) return undefined;
    if (context.too_large) throw new ContextTooLargeError(this.maxContextBytes, 'previous_response_id');
    const record = contextRecord(run.responseId);
    return {
      turn: started.turn,
      input: readItems(context.input, responseRecord(run.responseId)),
      context: [...readItems(context.earlier, record), ...readItems(context.context, record)],
      parent: parent && { ...parent, isInConversation: context.in_conversation },
      sessionId: started.session_id,
      log: readLog(log, run.responseId),
      attempts: started.attempts,
      isRestart: started.is_restart,
    };
  }

  override async handBack(run: Run): Promise<void> {
    await this.database.query(HAND_BACK, [...namesOf(run), this.now(), run.attempt]);
  }

  /** Throws ConversationChangedError, too. */
  override async finish(run: Run, ending: Ending): Promise<void> {
    const values = this.toValues(namesOf(run), run.attempt, ending);
    if (ending.jobs.length === 0) await this.end(this.database.repeatable, run.responseId, ending, values);
    else {
      await this.database.transaction(async (statement) => {
        const isNew = await this.end(statement, run.responseId, ending, values);
        if (isNew) await this.jobs.enqueue(statement, ending.jobs);
      });
    }
    this.log.announce(run.responseId, ending.log.events);
  }

  override async conclude(
    ...[tenant, responseId, compose, { within, attempt }]: Parameters<BackgroundRuns['conclude']>
  ) {
    const names = namesOf({ tenant, responseId });
    const outcome = await this.database.transaction<Ending | 'unchanged' | undefined>(async (run) => {
      const [held] = await run(HOLD_RUN, [...viewerOf(tenant, this.clock, within), names[1], attempt ?? null]);
      if (held?.is_open !== true) return held && 'unchanged';
      const ending = compose(toUnfinished(tenant, responseId, held, await run(WHOLE_LOG, names)));
      if (ending === undefined) return 'unchanged';
      const [ended] = await run(END, this.toValues(names, null, ending));
      // Only a deletion can have come in between.
      if (ended?.is_ours !== true) return undefined;
      await this.jobs.enqueue(run, ending.jobs);
      if (ending.uselessJob !== undefined) await this.jobs.remove(run, ending.uselessJob);
      await run(NOTIFY_ENDED, [names[1]]);
      return ending;
    });
    if (outcome === undefined) return undefined;
    if (outcome === 'unchanged') return this.responses.get(tenant, responseId, within);
    this.log.announceEnd(responseId, outcome.log.events);
    return outcome.response;
  }

  override async unfinished(tenant: Tenant, responseId: string, { cascade }: DeleteOptions, within?: string) {
    const values = [...viewerOf(tenant, this.clock, within), toKey(responseId), cascade] as const;
    const rows = await this.database.repeatable(UNFINISHED_OF, values);
    return rows.map(({ response_id: id }) => id);
  }

  override async queuedBefore(createdBefore: number, limit: number) {
    const rows = await this.database.repeatable(QUEUED_BEFORE, [this.now(), new Date(createdBefore), limit]);
    return rows.flatMap(({ tenant, response_id: responseId }) => readRun(tenant, responseId));
  }

  /** Throws QueueFullError. Creations wait for each other only when the queue is nearly full. */
  private async requireRoom(run: RunStatement, tenant: string, { total, perTenant }: QueueBounds): Promise<void> {
    const [nearlyFull] = await run(COUNT_QUEUED, [tenant, total - QUEUE_MARGIN, perTenant - QUEUE_MARGIN]);
    if (nearlyFull?.total === false && !nearlyFull.per_tenant) return;
    await run(HOLD_QUEUE, [tenant]);
    const [full] = await run(COUNT_QUEUED, [tenant, total, perTenant]);
    if (full?.total === true) throw new QueueFullError('total');
    if (full?.per_tenant === true) throw new QueueFullError('perTenant');
  }

  private async parent(
    tenant: string,
    parentId: string | null,
  ): Promise<Omit<NonNullable<StartedRun['parent']>, 'isInConversation'> | null> {
    if (parentId === null) return null;
    const [parent] = await this.database.repeatable(PARENT, [tenant, parentId]);
    if (parent === undefined) return null;
    const origin = readOrigin(parent.origin, responseRecord(parentId));
    // The driver gives -infinity, the time of a deleted parent, as a number and not as a Date.
    return { responseId: parentId, origin, expiresAt: Number(parent.expires_at) };
  }

  /** False when the same end is stored already. Throws RunLostError, WriteLockLostError and ConversationChangedError. */
  private async end(
    run: RunStatement,
    responseId: string,
    { conversation }: Ending,
    values: EndValues,
  ): Promise<boolean> {
    const [row] = await run(END, values);
    if (row?.is_ours === true) return true;
    // Asked separately: a statement does not see what was stored while it waited.
    const [tenant, id, , , firstEvent, firstNote, events] = values;
    const [same] = await run(IS_LOGGED, [tenant, id, firstEvent, firstNote, events]);
    if (same?.is_logged === true) return false;
    if (row?.leased === false)
      throw new WriteLockLostError(
        conversation === null ? (row.lost_session ?? responseId) : conversationLock(conversation.id),
      );
    if (conversation !== null && row?.is_running === true && !row.placed)
      throw await changedConversation(run, tenant, conversation.id);
    throw new RunLostError(responseId);
  }

  private toValues(names: Names, attempt: number | null, ending: Ending): EndValues {
    const { response, origin, conversation, fence, expiresAt, log, logExpiresAt, usage } = ending;
    const { body, size, itemsSize, kinds, keys, texts } = toEndColumns(ending);
    return [
      ...names,
      this.now(),
      attempt,
      ...toBatchColumns(log),
      response.status,
      new Date(expiresAt),
      origin === null ? null : JSON.stringify(origin),
      size,
      itemsSize,
      body,
      new Date(logExpiresAt),
      fence,
      kinds,
      keys,
      texts,
      conversation && toKey(conversationLock(conversation.id)),
      conversation && toKey(conversation.id),
      conversation && conversation.version,
      conversation?.omits === undefined ? null : toKey(conversation.omits),
      toUsageRow(usage),
    ];
  }

  private now(): Date {
    return new Date(this.clock.now());
  }
}

function namesOf({ tenant, responseId }: RunName): Names {
  return [toKey(tenant), toKey(responseId)];
}
