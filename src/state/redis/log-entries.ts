import type { Clock } from '../../time/index.js';
import type { StreamEvent } from '../../protocol/index.js';
import type { LogBatch } from '../event-log.js';
import { type BatchRow, readEvents, readLog, toBatchColumns } from '../log-columns.js';
import type { Redis } from './redis.js';

/** Entries of a log that are read at once. */
const PAGE = 500;

/** An entry as XRANGE gives it. */
export type StoredBatch = readonly [entry: string, fields: readonly [string, events: string, string, notes: string]];

/** A batch as the arguments of the scripts (scripts/runs.ts, `addBatch`). */
export function batchArgs(batch: LogBatch): readonly [entry: string, events: string, notes: string, hasItems: string] {
  const [firstEvent, firstNote, events, notes, hasItems] = toBatchColumns(batch);
  return [`${firstEvent + 1}-${firstNote}`, events, notes ?? '', hasItems ? '1' : ''];
}

/** The events of an entry of the log. */
export function eventsOf(entry: string, events: string): readonly StreamEvent[] {
  return readEvents({ first_event: firstEventOf(entry), events });
}

/** The log of a response, of these entries. */
export function toLog(batches: readonly StoredBatch[], responseId: string): LogBatch {
  return readLog(toRows(batches), responseId);
}

/** Entries of a log as other databases have them. */
function toRows(batches: readonly StoredBatch[]): readonly BatchRow[] {
  return batches.map(([entry, [, events, , notes]]) => ({
    first_event: firstEventOf(entry),
    events,
    notes: notes === '' ? null : notes,
  }));
}

/** The whole log of a response, as `readLog` takes it, and its last entry. Throws StoreUnavailableError. */
export async function readWholeLog(
  redis: Redis,
  key: string,
): Promise<{ readonly rows: readonly BatchRow[]; readonly lastEntry: string }> {
  const batches: StoredBatch[] = [];
  for (let from = '-'; ;) {
    const [page] = await redis.read(['XRANGE', key, from, '+', 'COUNT', PAGE]);
    batches.push(...(page as readonly StoredBatch[]));
    const lastEntry = batches.at(-1)?.[0] ?? '';
    if ((page as readonly StoredBatch[]).length < PAGE) return { rows: toRows(batches), lastEntry };
    from = `(${lastEntry}`;
  }
}

function firstEventOf(entry: string): number {
  return Number(entry.slice(0, entry.indexOf('-'))) - 1;
}

/** Between attempts to write to a run that another process holds, ms. */
const PAUSE_MS = 10;

/** Repeats a write to a run for as long as another process holds that. */
export async function whenReleased<Reply>(
  clock: Clock,
  write: () => Promise<Reply | 'held'>,
): Promise<Exclude<Reply, 'held'>> {
  for (;;) {
    const reply = await write();
    if (reply !== 'held') return reply as Exclude<Reply, 'held'>;
    await clock.sleep(PAUSE_MS);
  }
}
