import type { Tenant } from '../../access/index.js';
import { NEVER } from '../background-runs.js';
import { batchesOf, type LogBatch } from '../event-log.js';
import { givenBetween } from '../given-items.js';
import { type BatchColumns, toBatchColumns } from '../log-columns.js';
import { idOf, nameOf, toMovedEntry } from '../moving.js';
import type { MovedConversation, MovedEntries, MovedRecord, MovedResponse } from '../state-transfer.js';
import { readMetadata } from '../stored-conversation.js';
import { readItems, readOrigin, readResponse, responseRecord, type StoredResponse } from '../stored-response.js';
import { type ItemText, type NewResponse, toNewResponse } from './new-response.js';

/** A conversation without its items. */
export interface MovedConversationRow {
  readonly conversation: number;
  readonly id: string;
  readonly created_at: number;
  readonly metadata: string;
  readonly version: number;
  readonly end_position: number;
  readonly is_deleted: number;
}

/** An item of a conversation. */
export interface MovedEntryRow {
  readonly position: number;
  readonly is_given: number;
  readonly body: string;
}

/** A response with everything but its events; names as of `toKey`. */
export interface MovedResponseRow {
  readonly response: number;
  readonly id: string;
  readonly session_id: string;
  readonly status: string;
  readonly expires_at: number;
  readonly origin: string | null;
  readonly body: string;
  readonly inherited: string | null;
  readonly input: string | null;
  readonly output: string | null;
  readonly output_with_given: string | null;
  readonly parent_id: string | null;
  /** The body of the response that it continues, or of the one that its session is named after, where an id is a digest. */
  readonly parent_body: string | null;
  readonly session_body: string | null;
  readonly conversation_id: string | null;
  readonly conversation_end: number | null;
  /** The sessions that it is in, JSON. */
  readonly sessions: string;
  /** Null: it never was in the background. */
  readonly turn: string | null;
  readonly is_stream: number | null;
  readonly attempts: number | null;
  readonly log_expires_at: number | null;
}

/** A conversation that is moved; its metadata as JSON. */
export interface MovedConversationText {
  readonly kind: 'conversation';
  readonly id: string;
  readonly createdAt: number;
  readonly metadata: string;
  readonly version: number;
  readonly end: number;
  readonly isDeleted: boolean;
}

/** Items of a conversation that are moved. */
export interface MovedEntriesText {
  readonly kind: 'entries';
  readonly conversationId: string;
  readonly version: number;
  readonly entries: readonly (ItemText & { readonly position: number; readonly isGiven: boolean })[];
}

/** A response that is moved. */
export interface MovedResponseText {
  readonly kind: 'response';
  readonly record: Omit<NewResponse, 'conversation'>;
  readonly place: { readonly conversationId: string; readonly before: number } | null;
  readonly sessions: readonly string[];
  readonly run: {
    readonly turn: string;
    readonly isStream: boolean;
    readonly attempts: number;
    readonly logExpiresAt: number | null;
    readonly log: readonly BatchColumns[];
  } | null;
}

/** What is moved, with names as clients send them. */
export type MovedText = MovedConversationText | MovedEntriesText | MovedResponseText;

/** A stored conversation as it is moved. */
export function toMovedConversation(row: MovedConversationRow): MovedConversation {
  return {
    kind: 'conversation',
    record: {
      id: nameOf(row.id, 'conversation'),
      createdAt: row.created_at,
      metadata: readMetadata(row.metadata, row.id),
    },
    isDeleted: row.is_deleted === 1,
    version: row.version,
    end: row.end_position,
  };
}

/** Items of a conversation as they are moved. */
export function toMovedEntries({ record, version }: MovedConversation, rows: readonly MovedEntryRow[]): MovedEntries {
  const entries = rows.map((row) => toMovedEntry(record.id, row.position, row.is_given === 1, row.body));
  return { kind: 'entries', conversationId: record.id, version, entries };
}

/** A stored response as it is moved. */
export function toMovedResponse(row: MovedResponseRow, log: LogBatch): MovedResponse {
  const record = responseRecord(row.id);
  const response = readResponse({ ...row, status: row.status as StoredResponse['status'] });
  const { turn, output_with_given: transcript, conversation_id: conversation, conversation_end: before } = row;
  const sessionId = nameOf(row.session_id, 'session', response.id, idOf(row.session_body));
  return {
    kind: 'response',
    response,
    input: readItems(row.input, record),
    given: transcript === null ? [] : givenBetween(response.output, readItems(transcript, record)),
    inherited: readItems(row.inherited, record),
    parentId: row.parent_id === null ? null : nameOf(row.parent_id, 'response', idOf(row.parent_body)),
    origin: readOrigin(row.origin, record),
    place:
      conversation === null || before === null
        ? null
        : { conversationId: nameOf(conversation, 'conversation'), before },
    sessionId,
    sessions: (JSON.parse(row.sessions) as readonly string[]).map((key) => nameOf(key, 'session', sessionId)),
    expiresAt: row.expires_at >= NEVER ? null : row.expires_at,
    run: turn === null ? null : toMovedRun(row, turn, log),
  };
}

/** A record for the thread of the database. */
export function toMovedText(tenant: Tenant, moved: MovedRecord): MovedText {
  if (moved.kind === 'response') return toResponseText(tenant, moved);
  if (moved.kind === 'conversation') {
    const { record, version, end, isDeleted } = moved;
    const { id, createdAt, metadata } = record;
    return { kind: 'conversation', id, createdAt, metadata: JSON.stringify(metadata), version, end, isDeleted };
  }
  const entries = moved.entries.map(({ position, isGiven, item }) => {
    return { position, isGiven, id: item.id, text: JSON.stringify(item) };
  });
  return { ...moved, entries };
}

function toMovedRun(row: MovedResponseRow, turn: string, log: LogBatch): MovedResponse['run'] {
  const { is_stream: isStream, attempts, log_expires_at: logExpiresAt } = row;
  return { turn, isStream: isStream === 1, attempts: attempts ?? 0, logExpiresAt, log };
}

function toResponseText(tenant: Tenant, moved: MovedResponse): MovedResponseText {
  const { response, place, sessions, run, parentId, expiresAt } = moved;
  const record = { ...moved, conversation: null, fence: null, expiresAt: expiresAt ?? NEVER };
  return {
    kind: 'response',
    record: toNewResponse(tenant, record, parentId, run === null || response.store),
    place,
    sessions,
    run: run && { ...run, log: [...batchesOf(run.log)].map(toBatchColumns) },
  };
}
