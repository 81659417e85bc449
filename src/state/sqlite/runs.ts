import { type Tenant, tenantKey } from '../../access/index.js';
import type { Origin, ResponseObject } from '../../protocol/index.js';
import {
  BackgroundRuns,
  type ComposeEnding,
  type ConcludeOptions,
  type Ending,
  type QueueBounds,
  type QueuedRecord,
  type StartedRun,
  toResponseRecord,
} from '../background-runs.js';
import { ContextTooLargeError, RunLostError, WriteLockLostError } from '../errors.js';
import type { Run } from '../event-log.js';
import type { InProcessJobQueue } from '../in-process/jobs.js';
import type { InProcessLock } from '../in-process/locks.js';
import type { RunGate } from '../in-process/run-gate.js';
import { readLog, toBatchColumns } from '../log-columns.js';
import type { DeleteOptions } from '../response-store.js';
import { readItems, toBody } from '../stored-response.js';
import { conversationLock } from '../write-lock.js';
import type { DatabaseThread } from './database-thread.js';
import type { StoredJob } from './operations/jobs.js';
import type { NewEnd } from './operations/run-ends.js';
import type { SqliteEventLog } from './log.js';
import { toStoredJob, withId } from './jobs.js';
import type { SqliteResponseStore } from './responses.js';
import { toNewResponse, toOutputTexts, toPlace } from './to-new-response.js';

/** What SqliteRuns needs. */
export interface SqliteRunsParts {
  readonly thread: DatabaseThread;
  readonly responses: Pick<SqliteResponseStore, 'get'>;
  readonly locks: InProcessLock;
  readonly log: SqliteEventLog;
  readonly jobs: InProcessJobQueue;
  readonly gate: RunGate;
  readonly maxContextBytes: number;
}

/** The life of background responses in a file: created, started, ended. */
export class SqliteRuns extends BackgroundRuns {
  constructor(private readonly parts: SqliteRunsParts) {
    super();
  }

  override async create(tenant: Tenant, record: QueuedRecord, bounds: QueueBounds): Promise<void> {
    const { thread, jobs } = this.parts;
    const { turn, isStream, opening, response, parentId } = record;
    const job = withId(record.job);
    const run = { turn, isStream, opening: toBatchColumns(opening), job: toStoredJob(job) };
    const whole = toResponseRecord(record);
    const store = (parent: string | null) =>
      thread.call('runs.create', toNewResponse(tenant, whole, parent, response.store), bounds, run);
    // The parent was never stored, or is gone: what came before is stored with the response.
    if ((await store(parentId)) === 'unlinked') await store(null);
    jobs.add([job]);
  }

  override async start(run: Run): Promise<StartedRun | undefined> {
    const { tenant, responseId, attempt } = run;
    const { thread, maxContextBytes } = this.parts;
    const started = await this.write(run, () =>
      thread.call('runs.start', tenant, responseId, attempt, maxContextBytes),
    );
    if (started === undefined) return undefined;
    if (started === 'too large') throw new ContextTooLargeError(maxContextBytes, 'previous_response_id');
    const { turn, sessionId, attempts, isRestart, input, context, isInConversation, parent, log } = started;
    return thread.decode(() => ({
      turn,
      input: readItems(input),
      context: readItems(context),
      parent: parent && {
        responseId: parent.id,
        origin: parent.origin === null ? null : (JSON.parse(parent.origin) as Origin),
        isInConversation,
        expiresAt: parent.expires_at,
      },
      sessionId,
      log: readLog(log),
      attempts,
      isRestart,
    }));
  }

  override handBack(run: Run): Promise<void> {
    const { tenant, responseId, attempt } = run;
    return this.write(run, () => this.parts.thread.call('runs.handBack', tenant, responseId, attempt));
  }

  /** Throws ConversationChangedError, too. */
  override async finish(run: Run, ending: Ending): Promise<void> {
    const { tenant, responseId, attempt } = run;
    const { conversation, fence, log } = ending;
    const { locks, thread } = this.parts;
    const isInSession = fence !== null && conversation === null;
    const session = isInSession ? await thread.call('runs.sessionOf', tenant, responseId) : undefined;
    const lock = conversation === null ? (session ?? responseId) : conversationLock(conversation.id);
    const jobs = ending.jobs.map(withId);
    const end = toNewEnd(ending, jobs.map(toStoredJob));
    const isEnded = await this.write(run, async () => {
      if (fence !== null && !locks.isHeld(tenant, lock, fence)) throw new WriteLockLostError(lock);
      return thread.call('runs.end', tenant, responseId, attempt, end);
    });
    if (!isEnded) throw new RunLostError(responseId);
    this.parts.jobs.add(jobs);
    this.parts.log.announce(responseId, log.events);
  }

  override async conclude(
    tenant: Tenant,
    responseId: string,
    compose: ComposeEnding,
    { within, attempt }: ConcludeOptions,
  ): Promise<ResponseObject | undefined> {
    const { thread, responses, gate, jobs: queue, log } = this.parts;
    const ended = await gate.closeFor(tenantKey(tenant, responseId), async () => {
      const found = await thread.call('runs.findOpen', tenant, responseId, attempt ?? null, within);
      if (found?.isOpen !== true) return found && 'unchanged';
      const unfinished = thread.decode(() => ({
        response: JSON.parse(found.body) as ResponseObject,
        turn: found.turn,
        log: readLog(found.log),
      }));
      const ending = compose(unfinished);
      if (ending === undefined) return 'unchanged';
      const jobs = ending.jobs.map(withId);
      const isEnded = await thread.call('runs.end', tenant, responseId, null, toNewEnd(ending, jobs.map(toStoredJob)));
      // Only a deletion can have come in between.
      if (!isEnded) return 'unchanged';
      queue.add(jobs);
      if (ending.uselessJob !== undefined) queue.remove(ending.uselessJob);
      log.announceEnd(responseId, ending.log.events);
      return ending.response;
    });
    return ended === 'unchanged' ? responses.get(tenant, responseId, within) : ended;
  }

  override unfinished(
    tenant: Tenant,
    responseId: string,
    { cascade }: DeleteOptions,
    within?: string,
  ): Promise<readonly string[]> {
    return this.parts.thread.call('runs.unfinished', tenant, responseId, cascade, within);
  }

  override async queuedBefore(
    createdBefore: number,
    limit: number,
  ): Promise<readonly Pick<Run, 'tenant' | 'responseId'>[]> {
    // Without a limit, SQLite wants none.
    const { thread } = this.parts;
    const rows = await thread.call('runs.queuedBefore', createdBefore, Number.isFinite(limit) ? limit : -1);
    return thread.decode(() =>
      rows.map(({ tenant, id: responseId }) => ({ tenant: JSON.parse(tenant) as Tenant, responseId })),
    );
  }

  /** Waits while somebody ends the response from outside. */
  private write<T>({ tenant, responseId }: Run, work: () => Promise<T>): Promise<T> {
    return this.parts.gate.pass(tenantKey(tenant, responseId), work);
  }
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
