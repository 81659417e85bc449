import { type Tenant, tenantKey } from '../../access/index.js';
import type { Item, Origin, ResponseObject } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import type {
  ConcludeOptions,
  Ending,
  QueueBounds,
  QueuedRecord,
  StartedRun,
  UnfinishedResponse,
} from '../background-record.js';
import {
  ContextTooLargeError,
  ConversationChangedError,
  QueueFullError,
  RunLostError,
  WriteLockLostError,
} from '../errors.js';
import type { Run } from '../event-log.js';
import { finishedItems } from '../finished-items.js';
import type { InProcessJobQueue } from '../in-process/in-process-job-queue.js';
import type { InProcessLock } from '../in-process/in-process-lock.js';
import type { NewJob } from '../job-queue.js';
import { readLog, toBatchColumns } from '../log-columns.js';
import type { DeleteOptions } from '../response-store.js';
import { readItems, toBody } from '../stored-response.js';
import { conversationLock } from '../write-lock.js';
import type { DatabaseThread } from './database-thread.js';
import { toOutputTexts } from './item-text.js';
import type { NewResponse } from './new-response.js';
import type { NewEnd } from './operations/run-ends.js';
import type { RunGate } from './run-gate.js';
import type { SqliteEventLog } from './sqlite-event-log.js';
import { toStoredJob, withIds } from './sqlite-job-journal.js';

/** What SqliteRuns needs. */
export interface SqliteRunsParts {
  readonly thread: DatabaseThread;
  readonly locks: InProcessLock;
  readonly log: SqliteEventLog;
  readonly jobs: InProcessJobQueue;
  readonly gate: RunGate;
  readonly clock: Clock;
  readonly maxContextBytes: number;
}

/** The life of background responses in a file: created, started, ended. */
export class SqliteRuns {
  constructor(private readonly parts: SqliteRunsParts) {}

  /**
   * Creates a response; `whole` is what is stored of it, with its parent or, if that is not stored, with what it inherits. Throws
   * QueueFullError.
   */
  async create(
    record: QueuedRecord,
    bounds: QueueBounds,
    whole: (parentId: string | null) => NewResponse,
  ): Promise<void> {
    const { thread, jobs } = this.parts;
    const { turn, isStream, opening, parentId } = record;
    const [job] = withIds([record.job]);
    if (job === undefined) return;
    const run = { turn, isStream, opening: toBatchColumns(opening), job: toStoredJob(job) };
    let outcome = await thread.call('createRun', whole(parentId), bounds, run);
    if (outcome === 'unlinked') outcome = await thread.call('createRun', whole(null), bounds, run);
    if (outcome === 'total' || outcome === 'perTenant') throw new QueueFullError(outcome);
    jobs.add([job]);
  }

  /** Begins an attempt. Throws ContextTooLargeError. */
  async start(run: Run): Promise<StartedRun | undefined> {
    const { tenant, responseId, attempt } = run;
    const { thread, maxContextBytes } = this.parts;
    const started = await this.write(run, () => thread.call('startRun', tenant, responseId, attempt, maxContextBytes));
    if (started === undefined) return undefined;
    if (started === 'too large') throw new ContextTooLargeError(maxContextBytes, 'previous_response_id');
    const { turn, sessionId, attempts, isRestart, input, context, isInConversation, parent, log } = started;
    return {
      turn,
      input: readItems(input),
      context: context.flatMap(readItems),
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
    };
  }

  handBack(run: Run): Promise<void> {
    const { tenant, responseId, attempt } = run;
    return this.write(run, () => this.parts.thread.call('handBackRun', tenant, responseId, attempt));
  }

  /** Ends a running response. Throws RunLostError, WriteLockLostError and ConversationChangedError. */
  async finish(run: Run, ending: Ending): Promise<void> {
    const { tenant, responseId, attempt } = run;
    const { conversation, fence, log } = ending;
    const { locks, thread } = this.parts;
    const isInSession = fence !== null && conversation === null;
    const session = isInSession ? await thread.call('sessionOf', tenant, responseId) : undefined;
    const lock = conversation === null ? (session ?? responseId) : conversationLock(conversation.id);
    const jobs = withIds(ending.jobs);
    const end = toNewEnd(ending, jobs);
    const outcome = await this.write(run, async () => {
      if (fence !== null && !locks.isHeld(tenant, lock, fence)) throw new WriteLockLostError(lock);
      return thread.call('endRun', tenant, responseId, attempt, end);
    });
    if (outcome === 'lost') throw new RunLostError(responseId);
    if (outcome !== 'ended') throw new ConversationChangedError(conversation?.id ?? '', outcome === 'deleted');
    this.parts.jobs.add(jobs);
    this.parts.log.announce(responseId, log.events);
  }

  /** Ends an unfinished response from outside, and returns it; otherwise why it did not. */
  conclude(
    tenant: Tenant,
    responseId: string,
    compose: (unfinished: UnfinishedResponse) => Ending | undefined,
    { within = undefined, attempt = undefined }: ConcludeOptions,
  ): Promise<ResponseObject | 'unchanged' | 'not found'> {
    const { thread, clock, gate, jobs: queue, log } = this.parts;
    const look = { tenant, now: clock.now(), within: within ?? null };
    return gate.closeFor(tenantKey(tenant, responseId), async () => {
      const found = await thread.call('findOpenRun', look, responseId, attempt ?? null);
      if (found === undefined) return 'not found';
      if (!found.isOpen) return 'unchanged';
      const response = JSON.parse(found.body) as ResponseObject;
      const ending = compose({ response, turn: found.turn, log: readLog(found.log) });
      if (ending === undefined) return 'unchanged';
      const jobs = withIds(ending.jobs);
      const outcome = await thread.call('endRun', tenant, responseId, null, toNewEnd(ending, jobs));
      // Only a deletion can have come in between.
      if (outcome !== 'ended') return 'unchanged';
      queue.add(jobs);
      if (ending.uselessJob !== undefined) queue.remove(ending.uselessJob);
      log.announceEnd(responseId, ending.log.events);
      return ending.response;
    });
  }

  unfinished(
    tenant: Tenant,
    responseId: string,
    { cascade }: DeleteOptions,
    within: string | undefined,
  ): Promise<readonly string[]> {
    const look = { tenant, now: this.parts.clock.now(), within: within ?? null };
    return this.parts.thread.call('unfinishedOf', look, responseId, cascade);
  }

  async queuedBefore(createdBefore: number, limit: number): Promise<readonly Pick<Run, 'tenant' | 'responseId'>[]> {
    // Without a limit, SQLite wants none.
    const rows = await this.parts.thread.call('queuedBefore', createdBefore, Number.isFinite(limit) ? limit : -1);
    return rows.map(({ tenant, id: responseId }) => ({ tenant: JSON.parse(tenant) as Tenant, responseId }));
  }

  /** The items that a running response has finished. */
  async finishedItems(tenant: Tenant, responseId: string): Promise<readonly Item[]> {
    return finishedItems(readLog(await this.parts.thread.call('itemsOfLog', tenant, responseId)));
  }

  /** Waits while somebody ends the response from outside. */
  private write<T>({ tenant, responseId }: Run, work: () => Promise<T>): Promise<T> {
    return this.parts.gate.pass(tenantKey(tenant, responseId), work);
  }
}

function toNewEnd(ending: Ending, jobs: readonly Required<NewJob>[]): NewEnd {
  const { response, given, origin, conversation, expiresAt, log, logExpiresAt, uselessJob } = ending;
  return {
    ...toOutputTexts(response.output, given),
    status: response.status,
    body: toBody(response),
    origin: origin === null ? null : JSON.stringify(origin),
    conversation: conversation && { ...conversation, omits: conversation.omits ?? null },
    expiresAt,
    logExpiresAt,
    log: toBatchColumns(log),
    jobs: jobs.map(toStoredJob),
    uselessJob: uselessJob?.id ?? null,
  };
}
