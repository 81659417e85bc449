import type { Tenant } from '../../access/index.js';
import type { Item, Origin } from '../../protocol/index.js';
import { NEVER } from '../background-runs.js';
import { batchesOf, type LogBatch } from '../event-log.js';
import { givenBetween } from '../given-items.js';
import { toBatchColumns } from '../log-columns.js';
import { idOf, nameOf } from '../moved-names.js';
import type { MovedConversation, MovedEntries, MovedRecord, MovedResponse } from '../state-transfer.js';
import { readItems, readResponse, type StoredResponse } from '../stored-response.js';
import type { MovedResponseText, MovedText } from './operations/move-in.js';
import type { MovedConversationRow, MovedEntryRow, MovedResponseRow } from './operations/move-out.js';
import { toNewResponse } from './to-new-response.js';

/** Most events of a batch that is written. */
const EVENTS = 500;

/** A stored conversation as it is moved. */
export function toMovedConversation(row: MovedConversationRow): MovedConversation {
  return {
    kind: 'conversation',
    record: {
      id: nameOf(row.id, 'conversation'),
      createdAt: row.created_at,
      metadata: JSON.parse(row.metadata) as Readonly<Record<string, string>>,
    },
    isDeleted: row.is_deleted === 1,
    version: row.version,
    end: row.end_position,
  };
}

/** Items of a conversation as they are moved. */
export function toMovedEntries({ record, version }: MovedConversation, rows: readonly MovedEntryRow[]): MovedEntries {
  const entries = rows.map(({ position, is_given: isGiven, body }) => {
    return { position, isGiven: isGiven === 1, item: JSON.parse(body) as Item };
  });
  return { kind: 'entries', conversationId: record.id, version, entries };
}

/** A stored response as it is moved. */
export function toMovedResponse(row: MovedResponseRow, log: LogBatch): MovedResponse {
  const response = readResponse({ ...row, status: row.status as StoredResponse['status'] });
  const { turn, output_with_given: transcript, conversation_id: conversation, conversation_end: before } = row;
  const sessionId = nameOf(row.session_id, 'session', response.id, idOf(row.session_body));
  return {
    kind: 'response',
    response,
    input: readItems(row.input),
    given: transcript === null ? [] : givenBetween(response.output, readItems(transcript)),
    inherited: readItems(row.inherited),
    parentId: row.parent_id === null ? null : nameOf(row.parent_id, 'response', idOf(row.parent_body)),
    origin: row.origin === null ? null : (JSON.parse(row.origin) as Origin),
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
    run: run && { ...run, log: [...batchesOf(run.log, EVENTS)].map(toBatchColumns) },
  };
}
