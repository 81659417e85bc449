import type { Tenant } from '../access/index.js';
import { isTerminalEvent, type Item, type StreamEvent } from '../protocol/index.js';
import { readRecord } from './read-record.js';

/** One attempt to run a background response. */
export interface Run {
  readonly tenant: Tenant;
  readonly responseId: string;
  /** The attempt of its job: once a later one has started, this one writes nothing more. */
  readonly attempt: number;
}

/** Whose run it is. */
export type RunName = Pick<Run, 'tenant' | 'responseId'>;

/** A private record between events, which no client sees. `before` is the number of the event that follows. */
export interface LogNote {
  readonly before: number;
  readonly type: string;
}

/** A part of a response's log: events and notes, both in order. */
export interface LogBatch {
  /** The number of the first event, or of the one that follows if the batch has none. */
  readonly firstEvent: number;
  /** How many notes precede the batch. */
  readonly firstNote: number;
  readonly events: readonly StreamEvent[];
  readonly notes: readonly LogNote[];
}

/** Whether a batch says that the response runs: it leaves the queue. */
export function begins({ events }: LogBatch): boolean {
  return events.some(({ type }) => type === 'response.in_progress');
}

/** A whole log in batches of at most so many events; none when it is empty. */
export function* batchesOf({ events, notes }: LogBatch, size = 500): Generator<LogBatch> {
  let firstNote = 0;
  for (let firstEvent = 0; firstEvent < events.length || firstNote < notes.length; firstEvent += size) {
    const isLast = firstEvent + size >= events.length;
    const end = notes.findIndex(({ before }, index) => index >= firstNote && before >= firstEvent + size);
    const lastNote = isLast || end < 0 ? notes.length : end;
    yield {
      firstEvent,
      firstNote,
      events: events.slice(firstEvent, firstEvent + size),
      notes: notes.slice(firstNote, lastNote),
    };
    firstNote = lastNote;
  }
}

/** Logged events, or why there are none: the response has no stream, or its events are no longer stored. */
export type LogPage =
  | {
      readonly events: readonly StreamEvent[];
      /** Whether nothing follows: the response has ended, and these are its last events. */
      readonly isLast: boolean;
    }
  | { readonly missing: 'no stream' | 'expired' };

/** Most bytes of events that a database reads for a page, of which the first batch always fits, and most batches. */
export const LOG_PAGE_LIMITS = { bytes: 1024 * 1024, batches: 256 } as const;

/** Of how many responses a database deletes the events at once, and how many batches at most. */
export const LOGS_FORGOTTEN = { responses: 200, batches: 10_000 } as const;

/** A page of the events that a database has read, from the batch on that has the next one. */
export function toLogPage(
  found: readonly StreamEvent[],
  after: number,
  log: { readonly isStream: boolean; readonly hasEnded: boolean; readonly hasExpired: boolean },
): LogPage {
  if (!log.isStream) return { missing: 'no stream' };
  if (log.hasExpired) return { missing: 'expired' };
  const events = found.filter(({ sequenceNumber }) => sequenceNumber > after);
  return { events, isLast: log.hasEnded && (events.length === 0 || isTerminalEvent(events.at(-1))) };
}

/**
 * The events of background responses, for their readers and for further attempts. The terminal event is appended by
 * `BackgroundRuns.finish` and `conclude`.
 */
export abstract class EventLog {
  /**
   * Appends a batch that follows the last one. Idempotent. Throws RunLostError when the run may write no more, and
   * StoreUnavailableError.
   */
  abstract append(run: Run, batch: LogBatch): Promise<void>;

  /**
   * The events after a number, up to a bounded size; undefined when the response is not found. RunNotices tell when
   * there are more.
   */
  abstract read(tenant: Tenant, responseId: string, after: number, within?: string): Promise<LogPage | undefined>;
}

interface ItemDone {
  readonly output_index: number;
  readonly item: Item;
}

type LoggedItems = Pick<LogBatch, 'events' | 'notes'>;

const ITEM_DONE = 'response.output_item.done';
const DROPPED = 'dropped';

/** Whether a batch says something about finished items. */
export function hasItems({ events, notes }: LoggedItems): boolean {
  return events.some(({ type }) => type === ITEM_DONE) || notes.some(({ type }) => type === DROPPED);
}

/** The output items that a running response has finished, from the batches that `hasItems`. Throws DamagedRecordError. */
export function finishedItems({ events, notes }: LoggedItems, record = 'the log of a response'): readonly Item[] {
  const items = new Map<number, Item>();
  for (const { type, json } of events) {
    if (type !== ITEM_DONE) continue;
    const done = readRecord<ItemDone>(`${json}}`, record);
    items.set(done.output_index, done.item);
  }
  for (const note of notes) if (isDrop(note)) items.delete(note.outputIndex);
  return [...items].sort(([one], [other]) => one - other).map(([, item]) => item);
}

/** An unfinished item of an attempt that died is not part of the output. */
function isDrop(note: LogNote): note is LogNote & { readonly outputIndex: number } {
  return note.type === DROPPED;
}
