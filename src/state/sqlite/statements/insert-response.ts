import type { DatabaseSync } from 'node:sqlite';

import { SessionFullError } from '../../errors.js';
import { toKey, toLabels } from '../../keys.js';
import type { NewResponse, SaveOutcome } from '../new-response.js';
import { memberCounting } from '../sessions.js';
import { usageRecording } from '../usage.js';
import { bytesOf, itemEntering, toColumn, turnAppending, turnInput, turnOutput, type TurnPlace } from './turn-items.js';
import { tenantNumbers } from './visible.js';

/** What became of a response, and its number if it is stored anew. */
export interface Insertion {
  readonly outcome: SaveOutcome;
  readonly response?: number;
}

/** Has responses found by their metadata. */
export function labelEntering(database: DatabaseSync) {
  const label = database.prepare('INSERT OR IGNORE INTO labels (label, created_at, id, response) VALUES (?, ?, ?, ?)');
  return (
    tenant: string,
    {
      id,
      created_at: createdAt,
      response,
    }: { readonly id: string; readonly created_at: number; readonly response: number },
    metadata: NewResponse['metadata'],
  ): void => {
    for (const name of toLabels(toKey(tenant), metadata ?? {})) label.run(name, createdAt, id, response);
  };
}

/**
 * Stores responses with their items: those of a tenant, by its number, that continue another one, by its number, and stand somewhere in
 * a conversation. Returns their numbers, undefined for one that is stored already.
 */
export function responseStoring(database: DatabaseSync) {
  const enterItems = itemEntering(database);
  const insert = database.prepare(
    `INSERT INTO responses (owner, id, parent, session_id, status, model, created_at, expires_at, is_continuable,
      conversation, conversation_end, size, items_size, origin, body, inherited, input, output, output_with_given)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const join = database.prepare(
    'INSERT INTO session_responses (owner, session_id, created_at, id, response, is_fork) VALUES (?, ?, ?, ?, ?, 0)',
  );
  const enterLabels = labelEntering(database);

  return (
    record: Omit<NewResponse, 'parentId' | 'conversation'>,
    owner: number,
    parent: number | null,
    place: TurnPlace | null,
  ): number | undefined => {
    const { tenant, createdAt, input, output, body } = record;
    const [id, sessionId] = [toKey(record.id), toKey(record.sessionId)];
    const inherited = record.inherited.map((text) => ({ text }));
    const after = turnOutput(record);
    const { changes, lastInsertRowid } = insert.run(
      owner,
      id,
      parent,
      sessionId,
      record.status,
      toKey(record.model),
      createdAt,
      record.expiresAt,
      record.isContinuable ? 1 : 0,
      place?.conversation ?? null,
      place?.start ?? null,
      Buffer.byteLength(body) + bytesOf(output),
      bytesOf(inherited) + bytesOf(input) + bytesOf(after),
      record.origin,
      body,
      toColumn(inherited),
      toColumn(input),
      toColumn(output),
      record.given.length === 0 ? null : toColumn(after),
    );
    if (changes === 0) return undefined;
    const response = Number(lastInsertRowid);
    join.run(owner, sessionId, createdAt, id, response);
    enterItems(owner, response, 'input', input);
    enterItems(owner, response, 'output', output);
    enterLabels(tenant, { id, created_at: createdAt, response }, record.metadata);
    return response;
  };
}

/** Finds the numbers of responses. */
export function responseNumbers(database: DatabaseSync) {
  const find = database.prepare('SELECT response FROM responses WHERE owner = ? AND id = ?');
  return (owner: number, id: string): number | undefined =>
    find.get(owner, toKey(id))?.['response'] as number | undefined;
}

/** Stores responses with their place in the chain, their session and their conversation. Throws SessionFullError and ConversationChangedError. */
export function responseInsertion(database: DatabaseSync, now: () => number) {
  const tenants = tenantNumbers(database);
  const appendTurn = turnAppending(database);
  const numberOf = responseNumbers(database);
  const store = responseStoring(database);
  const recordUsage = usageRecording(database);
  const countMembers = memberCounting(database);

  return (record: NewResponse): Insertion => {
    const { parentId, conversation } = record;
    const owner = tenants.findOrCreate(record.tenant);
    const parent = parentId === null ? null : numberOf(owner, parentId);
    if (parent === undefined) return { outcome: 'unlinked' };
    if (record.sessionLimit !== undefined) {
      const most = record.sessionLimit;
      if (countMembers(owner, record.sessionId, now(), most) >= most) {
        if (numberOf(owner, record.id) === undefined) throw new SessionFullError(most);
        return { outcome: 'saved' };
      }
    }
    let place = null;
    if (conversation !== null) {
      // A turn is appended once.
      if (numberOf(owner, record.id) !== undefined) return { outcome: 'saved' };
      const turn = [...turnInput(record.input), ...turnOutput(record)];
      const inherited = record.inherited.map((text) => ({ text }));
      place = appendTurn(owner, conversation, turn, bytesOf(inherited) + bytesOf(turn));
    }
    const response = store(record, owner, parent, place);
    if (record.usage !== null) recordUsage(record.usage);
    return response === undefined ? { outcome: 'saved' } : { outcome: 'saved', response };
  };
}
