import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../../keys.js';
import type { BatchColumns } from '../../log-columns.js';
import type { ItemText, NewResponse } from '../new-response.js';
import type { EventLogOperations } from './log.js';
import { responseNumbers, responseStoring } from './insert-response.js';
import { tenantNumbers } from './tenants.js';

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

/** How many were new; or which record refers to something that is not there, and then nothing is stored. */
export type MovedIn = { readonly added: number } | { readonly refused: number };

/** Stores what is moved as it is; what exists already stays unchanged. */
export function moveInOperations(database: DatabaseSync, { insertBatch }: EventLogOperations) {
  const tenants = tenantNumbers(database);
  const numberOf = responseNumbers(database);
  const store = responseStoring(database);
  const insertConversation = database.prepare(
    `INSERT INTO conversations (owner, id, created_at, metadata, version, end_position, items_size, is_deleted)
    VALUES (?, ?, ?, ?, ?, ?, 0, ?) ON CONFLICT DO NOTHING`,
  );
  const findConversation = database.prepare(
    'SELECT conversation, version FROM conversations WHERE owner = ? AND id = ?',
  );
  const insertEntry = database.prepare(
    `INSERT OR IGNORE INTO conversation_items (conversation, position, is_given, owner, key, body)
    VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const grow = database.prepare('UPDATE conversations SET items_size = items_size + ? WHERE conversation = ?');
  const leave = database.prepare('DELETE FROM session_responses WHERE owner = ? AND session_id = ? AND response = ?');
  const join = database.prepare('INSERT OR IGNORE INTO session_responses VALUES (?, ?, ?, ?, ?, 1)');
  const insertRun = database.prepare(
    'INSERT INTO runs (response, turn, is_stream, attempts, log_expires_at) VALUES (?, ?, ?, ?, ?)',
  );

  const conversationOf = (owner: number, id: string) =>
    findConversation.get(owner, toKey(id)) as { readonly conversation: number; readonly version: number } | undefined;

  /** The index of the first record that refers to something that is neither stored nor among the records before it. */
  const findRefused = (owner: number, records: readonly MovedText[]): number => {
    const responses = new Set<string>();
    const conversations = new Set<string>();
    return records.findIndex((moved) => {
      if (moved.kind === 'conversation') conversations.add(moved.id);
      if (moved.kind !== 'response') return false;
      const { record, place } = moved;
      const isLinked =
        record.parentId === null ||
        responses.has(record.parentId) ||
        numberOf(owner, record.parentId) !== undefined ||
        numberOf(owner, record.id) !== undefined;
      const isPlaced =
        place === null ||
        conversations.has(place.conversationId) ||
        conversationOf(owner, place.conversationId) !== undefined;
      responses.add(record.id);
      return !isLinked || !isPlaced;
    });
  };

  const addConversation = (owner: number, moved: MovedConversationText): boolean => {
    const { id, createdAt, metadata, version, end, isDeleted } = moved;
    return insertConversation.run(owner, toKey(id), createdAt, metadata, version, end, isDeleted ? 1 : 0).changes > 0;
  };

  const addEntries = (owner: number, { conversationId, version, entries }: MovedEntriesText): false => {
    const found = conversationOf(owner, conversationId);
    if (found?.version !== version) return false;
    let size = 0;
    for (const { position, isGiven, id, text } of entries) {
      const { changes } = insertEntry.run(found.conversation, position, isGiven ? 1 : 0, owner, toKey(id), text);
      if (changes > 0) size += Buffer.byteLength(text);
    }
    grow.run(size, found.conversation);
    return false;
  };

  const addResponse = (owner: number, { record, place, sessions, run }: MovedResponseText): boolean => {
    const { id, parentId, sessionId, createdAt } = record;
    const parent = parentId === null ? null : (numberOf(owner, parentId) ?? null);
    const conversation = place && conversationOf(owner, place.conversationId)?.conversation;
    const stands = place === null || conversation == null ? null : { conversation, start: place.before };
    const response = store(record, owner, parent, stands);
    if (response === undefined) return false;
    if (!sessions.includes(sessionId)) leave.run(owner, toKey(sessionId), response);
    for (const name of sessions) if (name !== sessionId) join.run(owner, toKey(name), createdAt, toKey(id), response);
    if (run === null) return true;
    insertRun.run(response, run.turn, run.isStream ? 1 : 0, run.attempts, run.logExpiresAt);
    for (const batch of run.log) insertBatch(response, batch);
    return true;
  };

  return {
    write: (tenant: string, records: readonly MovedText[]): MovedIn => {
      const owner = tenants.findOrCreate(tenant);
      const refused = findRefused(owner, records);
      if (refused >= 0) return { refused };
      const added = records.filter((moved) => {
        if (moved.kind === 'conversation') return addConversation(owner, moved);
        return moved.kind === 'entries' ? addEntries(owner, moved) : addResponse(owner, moved);
      });
      return { added: added.length };
    },
  };
}
