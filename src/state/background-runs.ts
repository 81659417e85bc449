import type { Tenant } from '../access/index.js';
import type { Item, Origin, ResponseObject } from '../protocol/index.js';
import { DamagedRecordError } from './errors.js';
import type { LogBatch, Run, RunName } from './event-log.js';
import type { JobReference, NewJob } from './job-queue.js';
import { type BatchRow, readLog } from './log-columns.js';
import { readable } from './readable-page.js';
import { readRecord, readTenant } from './read-record.js';
import type { DeleteOptions, ResponseRecord } from './response-store.js';
import { responseRecord } from './stored-response.js';

/** When a background response expires that has not ended: the latest time of a Date, milliseconds since the epoch. */
export const NEVER = 8_640_000_000_000_000;

/** A background response before its run. Its response names the conversation that its turn will be appended to, if there is one. */
export interface QueuedRecord extends Pick<
  ResponseRecord,
  'response' | 'input' | 'parentId' | 'inherited' | 'sessionId' | 'sessionLimit'
> {
  /** The turn, as JSON. */
  readonly turn: string;
  /** Whether clients may read its events. */
  readonly isStream: boolean;
  /** The events before its run. */
  readonly opening: LogBatch;
  /** The job that runs it. */
  readonly job: NewJob;
}

/** Most responses that may be queued. */
export interface QueueBounds {
  readonly total: number;
  readonly perTenant: number;
}

/** What a run needs: the turn, its context, and what earlier attempts have logged. */
export interface StartedRun {
  /** The turn, as JSON. */
  readonly turn: string;
  /** The input of the turn. */
  readonly input: readonly Item[];
  /** The transcript before the input; it includes responses that were deleted meanwhile. */
  readonly context: readonly Item[];
  /** The response that it continues. */
  readonly parent: {
    readonly responseId: string;
    readonly origin: Origin | null;
    /** Whether it, or a response before it, was made in a conversation, whose items may be deleted. */
    readonly isInConversation: boolean;
    readonly expiresAt: number;
  } | null;
  readonly sessionId: string;
  readonly log: LogBatch;
  /** Attempts so far, this one included, without those that were handed back. */
  readonly attempts: number;
  /** Whether an earlier attempt has begun the turn, or was not handed back: it no longer waits. */
  readonly isRestart: boolean;
}

/** A background response that has not ended. */
export interface UnfinishedResponse {
  /** The Response as it was created; null when it is damaged. */
  readonly response: ResponseObject | null;
  /** The turn, as JSON. */
  readonly turn: string;
  /** The log, without the notes when these are damaged. */
  readonly log: LogBatch;
  /** What of the log is damaged, if anything. */
  readonly damage?: DamagedRecordError;
}

/** A background response that has not ended, as databases store it. A damaged one can be ended, too: no part that can be read is missing. */
export function toUnfinished(
  tenant: Tenant,
  responseId: string,
  { body, turn }: { readonly body: string; readonly turn: string },
  batches: readonly BatchRow[],
): UnfinishedResponse {
  const response = readable(tenant, () => readRecord<ResponseObject>(body, responseRecord(responseId), 'id')) ?? null;
  try {
    return { response, turn, log: readLog(batches, responseId) };
  } catch (damage) {
    if (!(damage instanceof DamagedRecordError)) throw damage;
    const events = batches.map((batch) => ({ ...batch, notes: null }));
    return { response, turn, log: readLog(events, responseId), damage };
  }
}

/** Whose run it is, of a tenant in JSON; nothing, which is logged, when that is damaged. */
export function readRun(tenant: string, responseId: string): readonly RunName[] {
  return (
    readable('?', () => [{ tenant: readTenant(tenant, `the run of ${responseRecord(responseId)}`), responseId }]) ?? []
  );
}

/** A queued response as it is stored: it has made nothing yet, and does not expire. */
export function toResponseRecord(record: QueuedRecord): ResponseRecord & QueuedRecord {
  return { ...record, given: [], origin: null, conversation: null, fence: null, expiresAt: NEVER };
}

/** The end of a background response. */
export interface Ending extends Pick<
  ResponseRecord,
  'response' | 'given' | 'origin' | 'conversation' | 'fence' | 'expiresAt' | 'usage'
> {
  /** The last events, up to the terminal one. */
  readonly log: LogBatch;
  /** Until when the events are stored, milliseconds since the epoch. */
  readonly logExpiresAt: number;
  /** Jobs that are enqueued with it. */
  readonly jobs: readonly NewJob[];
  /** The job of the run, if it is of no use any more: it is removed, also while it is delivered. */
  readonly uselessJob?: JobReference;
}

/** Which responses `BackgroundRuns.conclude` ends. */
export interface ConcludeOptions {
  /** Only one in this session. */
  readonly within?: string | undefined;
  /** Only while this is the latest attempt to run it. */
  readonly attempt?: number | undefined;
}

/** Makes the end of an unfinished response; without one it goes on. */
export type ComposeEnding = (unfinished: UnfinishedResponse) => Ending | undefined;

/**
 * The life of background responses: queued, started, ended. They are responses of ResponseStore from their creation on, and their events
 * are in EventLog. Tenants, `within` and errors are as of ResponseStore.
 */
export abstract class BackgroundRuns {
  /**
   * Stores a queued background response with its first events, and enqueues its job: all or nothing. It does not expire
   * before it has ended. Throws QueueFullError and SessionFullError.
   */
  abstract create(tenant: Tenant, record: QueuedRecord, bounds: QueueBounds): Promise<void>;

  /**
   * Begins an attempt to run a background response; earlier attempts write nothing more. It is `in_progress` once an
   * attempt has logged `response.in_progress`. Undefined when the response has ended or was deleted, or when a later attempt has started.
   */
  abstract start(run: Run): Promise<StartedRun | undefined>;

  /** Does not count a started attempt: the process hands it back. Does nothing when the run was lost. */
  abstract handBack(run: Run): Promise<void>;

  /**
   * Ends a response that is running, with its last events and further jobs: all or nothing, and once. Throws
   * RunLostError when it has ended otherwise, was deleted, or another attempt has started; WriteLockLostError.
   */
  abstract finish(run: Run, ending: Ending): Promise<void>;

  /**
   * Ends a background response from outside of its run: `compose` makes the end of what it has come to, and nothing can
   * be logged in between. Returns that end's response, or the response unchanged; undefined when it is not found, or was never
   * in the background. Runs on all replicas are notified (RunNotices).
   */
  abstract conclude(
    tenant: Tenant,
    responseId: string,
    compose: ComposeEnding,
    options: ConcludeOptions,
  ): Promise<ResponseObject | undefined>;

  /** The ids of the background responses that a deletion would delete before they have ended. */
  abstract unfinished(
    tenant: Tenant,
    responseId: string,
    options: DeleteOptions,
    within?: string,
  ): Promise<readonly string[]>;

  /** Background responses that were created before a time and are still queued, oldest first, up to `limit`. */
  abstract queuedBefore(createdBefore: number, limit: number): Promise<readonly RunName[]>;
}
