import type { StreamEvent } from '../protocol/index.js';
import { isObject } from '../json.js';
import { DamagedRecordError } from './errors.js';
import { hasItems, type LogBatch, type LogNote } from './event-log.js';
import { parseStored } from './read-record.js';
import { logRecord } from './stored-response.js';

/** A batch of the log as columns. */
export type BatchColumns = readonly [
  firstEvent: number,
  firstNote: number,
  events: string,
  notes: string | null,
  hasItems: boolean,
];

/** A stored batch. */
export interface BatchRow {
  readonly first_event: number;
  readonly events: string;
  readonly notes: string | null;
}

/** Precedes the type in the text of every event. */
const BEFORE_TYPE = '{"type":"';

/** A batch as columns. An event is a line, with the length of its delta first: JSON on one line has no line breaks. */
export function toBatchColumns(batch: LogBatch): BatchColumns {
  const { firstEvent, firstNote, events, notes } = batch;
  const text = events.map(({ deltaLength, json }) => `${deltaLength} ${json}`).join('\n');
  return [firstEvent, firstNote, text, notes.length === 0 ? null : JSON.stringify(notes), hasItems(batch)];
}

/** The events of a stored batch. */
export function readEvents({ first_event: first, events }: Omit<BatchRow, 'notes'>): readonly StreamEvent[] {
  if (events === '') return [];
  return events.split('\n').map((line, index) => {
    const space = line.indexOf(' ');
    const json = line.slice(space + 1);
    const type = json.slice(BEFORE_TYPE.length, json.indexOf('"', BEFORE_TYPE.length));
    return { type, sequenceNumber: first + index, json, deltaLength: Number(line.slice(0, space)), response: null };
  });
}

/** The whole log of a response. Throws DamagedRecordError. */
export function readLog(rows: readonly BatchRow[], responseId: string): LogBatch {
  const notes = rows.flatMap(({ notes: text }) => (text === null ? [] : readNotes(text, responseId)));
  return { firstEvent: 0, firstNote: 0, events: rows.flatMap(readEvents), notes };
}

function readNotes(text: string, responseId: string): readonly LogNote[] {
  const record = logRecord(responseId);
  const notes = parseStored(text, record);
  if (!Array.isArray(notes) || !notes.every(isObject)) throw new DamagedRecordError(record, 'notes were expected');
  return notes as unknown as readonly LogNote[];
}
