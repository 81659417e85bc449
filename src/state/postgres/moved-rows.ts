import type { Tenant } from '../../access/index.js';
import type { Item, ResponseObject } from '../../protocol/index.js';
import { NEVER } from '../background-runs.js';
import { separate } from '../given-items.js';
import { isDigest, toKey } from '../keys.js';
import { idOf, nameOf } from '../moving.js';
import { type MovedConversation, type MovedResponse, type MovedRun, StateTransferError } from '../state-transfer.js';
import { readRecord } from '../read-record.js';
import { readMetadata } from '../stored-conversation.js';
import { readItems, readOrigin, responseRecord } from '../stored-response.js';
import type { LogBatch } from '../event-log.js';
import { toColumns } from './columns.js';
import type { ItemKind } from './statements/save.js';
import type { MovedConversationRow, MovedResponseRow, MoveResponseValues } from './statements/transfer.js';

/** The earliest time of PostgreSQL: of what was deleted. */
const LONG_AGO = '-infinity';

/** A stored conversation as it is moved. */
export function toMovedConversation(row: MovedConversationRow): MovedConversation {
  return {
    kind: 'conversation',
    record: {
      id: nameOf(row.id, 'conversation'),
      createdAt: row.created_at.getTime() / 1000,
      metadata: readMetadata(row.metadata, row.id),
    },
    isDeleted: row.is_deleted,
    version: Number(row.version),
    end: Number(row.end_position),
  };
}

/** A stored response as it is moved. */
export function toMovedResponse(row: MovedResponseRow, log: LogBatch): MovedResponse {
  const record = responseRecord(row.id);
  const body = readRecord<ResponseObject>(row.body, record, 'id');
  const kinds = (row.kinds === null ? [] : row.kinds.split(',')) as ItemKind[];
  const items = readItems(row.items, record);
  const ofKind = (wanted: ItemKind): readonly Item[] => items.filter((_, index) => kinds[index] === wanted);
  const { output, given } = separate(
    items.flatMap((item, index) => {
      const kind = kinds[index];
      return kind === 'output' || kind === 'given' ? [{ isGiven: kind === 'given', item }] : [];
    }),
  );
  const sessionId = nameOf(row.session_id, 'session', body.id, idOf(row.session_body));
  return {
    kind: 'response',
    response: { ...body, status: row.status as ResponseObject['status'], output: [...output] },
    input: ofKind('input'),
    given,
    inherited: ofKind('inherited'),
    parentId: row.parent_id === null ? null : nameOf(row.parent_id, 'response', idOf(row.parent_body)),
    origin: readOrigin(row.origin, record),
    place:
      row.conversation_id === null
        ? null
        : { conversationId: nameOf(row.conversation_id, 'conversation'), before: Number(row.conversation_end) },
    sessionId,
    sessions: row.sessions.map((key) => nameOf(key, 'session', sessionId)),
    expiresAt: toMs(row.expires_at),
    run: toMovedRun(row, log),
  };
}

function toMovedRun(
  { turn, is_stream: isStream, attempts, log_expires_at: end }: MovedResponseRow,
  log: LogBatch,
): MovedRun | null {
  if (turn === null) return null;
  return { turn, isStream, attempts, logExpiresAt: end === null ? null : toMs(end), log };
}

/** A moved response as columns. */
export function toMovedColumns(owner: string, moved: MovedResponse): MoveResponseValues {
  const { response, inherited, parentId, sessionId, sessions, expiresAt, place, run } = moved;
  const record = { ...moved, conversation: null, fence: null, expiresAt: 0 };
  const [status, model, createdAt, , labels, origin, size, itemsSize, body, , ...items] = toColumns(
    owner,
    record,
    inherited,
  );
  return [
    ...([owner, toKey(response.id), parentId === null ? null : toKey(parentId), toKey(sessionId)] as const),
    sessions.map(toKey),
    status,
    model,
    createdAt,
    toTime(expiresAt),
    labels,
    origin,
    size,
    itemsSize,
    body,
    run === null || response.store,
    place && toKey(place.conversationId),
    place && place.before,
    ...items,
  ];
}

/** Milliseconds as a time of PostgreSQL. */
export function toTime(ms: number | null): Date | string {
  return ms === 0 ? LONG_AGO : new Date(ms ?? NEVER);
}

/** The driver gives `-infinity` as a number. */
function toMs(time: Date | number): number | null {
  if (!(time instanceof Date)) return 0;
  return time.getTime() === NEVER ? null : time.getTime();
}

/** The tenant of a key. */
export function tenantOf(owner: string, name: string | null): Tenant {
  if (name !== null) return JSON.parse(name) as Tenant;
  if (!isDigest(owner)) return owner as Tenant;
  throw new StateTransferError(
    'The database has a tenant whose name it stores only as a digest. Name those to export: --tenant <name>.',
  );
}
