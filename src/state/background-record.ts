import type { Item, Origin, ResponseObject } from '../protocol/index.js';
import type { LogBatch } from './event-log.js';
import type { JobReference, NewJob } from './job-queue.js';
import type { ResponseRecord } from './response-record.js';

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
  /** The Response as it was created. */
  readonly response: ResponseObject;
  /** The turn, as JSON. */
  readonly turn: string;
  readonly log: LogBatch;
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

/** Which responses `ResponseStore.conclude` ends. */
export interface ConcludeOptions {
  /** Only one in this session. */
  readonly within?: string | undefined;
  /** Only while this is the latest attempt to run it. */
  readonly attempt?: number | undefined;
}
