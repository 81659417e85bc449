import type { Tenant } from '../../access/index.js';
import type { Item, ResponseObject, StreamEvent } from '../../protocol/index.js';
import type {
  BackgroundRuns,
  Ending,
  EventLog,
  LogBatch,
  LogNote,
  LogPage,
  NewJob,
  QueuedRecord,
  Run,
  StartedRun,
  StateBackend,
} from '../../state/index.js';
import { message, type RecordParts, recordOf, START, TTL_MS } from './records.js';

/** More than any test queues. */
export const NO_BOUNDS = { total: 10_000, perTenant: 10_000 };
/** How long the events of ended responses are stored unless a test says otherwise, ms. */
export const LOG_TTL_MS = 600_000;

/** An event with a text of its own. */
export function event(sequenceNumber: number, type = 'response.output_text.delta', members = ''): StreamEvent {
  const json = `{"type":"${type}","sequence_number":${sequenceNumber}${members}`;
  return { type, sequenceNumber, json, deltaLength: type.endsWith('delta') ? sequenceNumber % 7 : -1, response: null };
}

/** The event that begins a turn. */
export function begins(sequenceNumber: number): StreamEvent {
  return event(sequenceNumber, 'response.in_progress');
}

/** The event that finishes an item. */
export function itemDone(sequenceNumber: number, outputIndex: number, item: Item): StreamEvent {
  const members = `,"output_index":${outputIndex},"item":${JSON.stringify(item)}`;
  return event(sequenceNumber, 'response.output_item.done', members);
}

/** The note that takes an item out of the output again. */
export function dropped(before: number, outputIndex: number): LogNote {
  return { before, type: 'dropped', outputIndex } as LogNote;
}

/** A batch of events. */
export function batch(first: number, ...events: readonly StreamEvent[]): LogBatch {
  return { firstEvent: first, firstNote: 0, events, notes: [] };
}

/** A batch of so many deltas. */
export function deltas(first: number, count: number): LogBatch {
  return batch(first, ...Array.from({ length: count }, (_, index) => event(first + index)));
}

/** What a test says of a queued response; the rest is made up. */
export interface QueuedParts extends RecordParts {
  readonly isStream?: boolean;
  readonly store?: boolean;
  readonly opening?: LogBatch;
  readonly job?: NewJob;
  /** The conversation that the turn will be appended to. */
  readonly conversationId?: string;
}

/** The events of a response before its run. */
export const OPENING = batch(0, event(0, 'response.created'), event(1, 'response.queued'));

/** A queued response with one input message; without a session or parent it begins a session of its own. */
export function queuedOf(id: string, parts: QueuedParts = {}): QueuedRecord {
  const { isStream = true, store = true, opening = OPENING, job = { queue: 'turns', data: { id } } } = parts;
  const conversation = parts.conversationId === undefined ? {} : { conversation: { id: parts.conversationId } };
  const members = { background: true, store, ...conversation, ...parts.members };
  const record = recordOf(id, { ...parts, status: 'queued', output: [], members });
  const { response, input, parentId, inherited, sessionId } = record;
  return { response, input, parentId, inherited, sessionId, turn: `{"turn":"${id.length}"}`, isStream, opening, job };
}

/** What a test says of an end; the rest is made up. */
export interface EndingParts extends RecordParts {
  /** The number of the terminal event. */
  readonly at?: number;
  readonly log?: LogBatch;
  readonly logExpiresAt?: number;
  readonly jobs?: readonly NewJob[];
}

/** The end of a response, completed with one output message unless a test says otherwise. */
export function endingOf(id: string, parts: EndingParts = {}): Ending {
  const { at = 2, status = 'completed', logExpiresAt = START + LOG_TTL_MS, jobs = [] } = parts;
  const { response, given, origin, conversation, fence, expiresAt } = recordOf(id, {
    ...parts,
    members: { background: true, store: true, ...parts.members },
  });
  const log = parts.log ?? batch(at, terminal(at, status, response));
  return { response, given, origin, conversation, fence, expiresAt, log, logExpiresAt, jobs };
}

/** Stores a queued response. */
export async function enqueue(
  runs: BackgroundRuns,
  tenant: Tenant,
  id: string,
  parts: QueuedParts = {},
): Promise<QueuedRecord> {
  const record = queuedOf(id, parts);
  await runs.create(tenant, record, NO_BOUNDS);
  return record;
}

/** Stores a response and starts its first attempt, which has begun the turn: event 2 is logged. */
export async function launch(
  { runs, log }: StateBackend,
  tenant: Tenant,
  id: string,
  parts: QueuedParts = {},
): Promise<Run> {
  await enqueue(runs, tenant, id, parts);
  const run: Run = { tenant, responseId: id, attempt: 1 };
  await startRun(runs, run);
  await log.append(run, batch(2, begins(2)));
  return run;
}

/** Starts an attempt that may start. */
export async function startRun(runs: BackgroundRuns, run: Run): Promise<StartedRun> {
  const started = await runs.start(run);
  if (started === undefined) throw new Error(`attempt ${run.attempt} of ${run.responseId} did not start`);
  return started;
}

/** The later attempt of a run. */
export function after(run: Run): Run {
  return { ...run, attempt: run.attempt + 1 };
}

/** All events after a number, page by page. */
export async function readAll(
  log: EventLog,
  { tenant, responseId }: Omit<Run, 'attempt'>,
  from = -1,
): Promise<{ readonly events: readonly StreamEvent[]; readonly pages: number; readonly isLast: boolean }> {
  const events: StreamEvent[] = [];
  for (let pages = 1; ; pages += 1) {
    const page = eventsOf(await log.read(tenant, responseId, events.at(-1)?.sequenceNumber ?? from));
    events.push(...page.events);
    if (page.isLast || page.events.length === 0) return { events, pages, isLast: page.isLast };
  }
}

/** A page that has events. */
export function eventsOf(page: LogPage | undefined): Extract<LogPage, { readonly isLast: boolean }> {
  if (page === undefined || 'missing' in page) throw new Error(`there are no events: ${JSON.stringify(page)}`);
  return page;
}

/** The end that another session of tests would compose: cancelled, without output. */
export function cancelledOf(id: string, parts: EndingParts = {}): Ending {
  return endingOf(id, { status: 'cancelled', output: [], ...parts });
}

/** A message that a model wrote. */
export function answer(id: string): Item {
  return message(id, `answer ${id}`);
}

/** Long enough for everything that ends. */
export const AGE_MS = 1000 * TTL_MS;

function terminal(at: number, status: ResponseObject['status'], response: ResponseObject): StreamEvent {
  const type = status === 'cancelled' ? 'response.incomplete' : `response.${status}`;
  return { ...event(at, type, `,"response":${JSON.stringify(response)}`), response };
}
