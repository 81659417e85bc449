import type { Tenant } from '../../access/index.js';
import { NEVER } from '../background-runs.js';
import { batchesOf } from '../event-log.js';
import { toKey } from '../keys.js';
import type { MovedConversation, MovedEntries, MovedRecord, MovedResponse } from '../state-transfer.js';
import { conversationLock } from '../write-lock.js';
import { conversationName, toItemId } from './conversation-items.js';
import { indexCommands } from './indexes.js';
import { type Insertion, insertionArgs, toInsertion } from './insertion.js';
import { HeldItems } from './item-index.js';
import type { RedisKeys } from './keys.js';
import { batchArgs } from './log-entries.js';
import type { RunIndex } from './run-index.js';
import { type Command, run } from './script.js';
import { STORE_RUN } from './scripts/runs.js';
import { MOVE_CONVERSATION, MOVE_ENTRIES, WAITING_MS } from './scripts/transfer.js';

/** Without bounds: moved responses were admitted before. */
const UNBOUNDED = { total: Number.MAX_SAFE_INTEGER, perTenant: Number.MAX_SAFE_INTEGER };

/** The commands that store what is moved, for one tenant at one time. */
export class MoveIn {
  constructor(
    private readonly keys: RedisKeys,
    private readonly index: RunIndex,
    private readonly tenant: Tenant,
    private readonly now: number,
  ) {}

  /** The command that stores a record; `slot`: that of a response. */
  store(record: MovedRecord, slot: string): Command {
    if (record.kind === 'conversation') return this.storeConversation(record);
    return record.kind === 'entries' ? this.storeEntries(record) : this.storeResponse(record, slot);
  }

  /** The commands after which a response that is stored is found. */
  find(moved: MovedResponse, slot: string): readonly Command[] {
    const { keys, tenant, now, index } = this;
    const { response, run: background } = moved;
    const insertion = this.toInsertion(moved);
    const entry = { tenant, slot, responseKey: insertion.id };
    const logExpiresAt = background?.logExpiresAt;
    return [
      ...indexCommands(keys, tenant, slot, insertion, now),
      ...this.heldBy(moved).enter(keys, insertion, now),
      ...(logExpiresAt === null ? [index.admitting(entry, response.created_at, now, UNBOUNDED)] : []),
      ...(logExpiresAt === null && response.status !== 'queued' ? index.begun(entry) : []),
      ...(typeof logExpiresAt === 'number' && logExpiresAt > 0 ? [index.forgetting(entry, logExpiresAt, now)] : []),
    ];
  }

  private storeConversation({ record, version, end, isDeleted }: MovedConversation): Command {
    const { id, createdAt, metadata } = record;
    const about = [createdAt, JSON.stringify(metadata), conversationName(this.tenant, id)] as const;
    return run(MOVE_CONVERSATION, [this.baseOf(id)], ...about, version, end, isDeleted ? 1 : 0);
  }

  private storeEntries({ conversationId, version, entries }: MovedEntries): Command {
    // Positions begin with 1 here: an entry of a stream cannot be 0.
    const args = entries.flatMap(({ position, isGiven, item }) => {
      return [position + 1, isGiven ? 'given' : 'item', toItemId(item.id), JSON.stringify(item)];
    });
    return run(MOVE_ENTRIES, [this.baseOf(conversationId)], version, ...args);
  }

  private storeResponse(moved: MovedResponse, slot: string): Command {
    const { place, run: background } = moved;
    const logExpiresAt = background?.logExpiresAt ?? null;
    const batches = background === null ? [] : [...batchesOf(background.log)].map(batchArgs);
    // What the log says of finished items is of use only before the response has ended.
    const stored = batches.flatMap(([entry, events, notes, hasItems]) => {
      return [entry, events, notes, logExpiresAt === null ? hasItems : ''];
    });
    return run(
      STORE_RUN,
      [this.keys.slot(this.tenant, slot).base, ...(place === null ? [] : [this.baseOf(place.conversationId)])],
      ...[this.now, place?.before ?? '', logExpiresAt ?? '', batches.length, ...stored],
      ...insertionArgs(this.toInsertion(moved), slot),
    );
  }

  private toInsertion(moved: MovedResponse): Insertion {
    const { response, parentId, sessions, run: background } = moved;
    const expiresAt = moved.expiresAt ?? NEVER;
    const record = { ...moved, conversation: null, fence: null, expiresAt };
    const fields = [...runFields(moved), ...this.heldBy(moved).fields];
    const plain = toInsertion(this.tenant, record, parentId, this.now, fields, sessions);
    const isRunning = background !== null && background.logExpiresAt === null;
    return {
      ...plain,
      slack: expiresAt >= NEVER ? 0 : Math.max(plain.slack, this.now + WAITING_MS - expiresAt),
      fields: background === null || response.store ? plain.fields : [...plain.fields, 'continuable', 0],
      texts: isRunning ? [...plain.texts, ':turn', background.turn] : plain.texts,
    };
  }

  private heldBy({ response, input, run: background, expiresAt }: MovedResponse): HeldItems {
    const isShown = expiresAt !== 0 && (background === null || response.store);
    return new HeldItems(this.tenant, isShown ? { input, output: response.output } : {});
  }

  private baseOf(conversationId: string): string {
    return this.keys.slot(this.tenant, conversationLock(conversationId)).base;
  }
}

/** The slot that a response gets that continues none, or one in this slot. */
export function slotOf({ place, sessionId }: MovedResponse, ofParent: string | undefined): string {
  return ofParent ?? (place === null ? sessionId : conversationLock(place.conversationId));
}

/** The ids of responses that say where some records lie, as of `toKey`. */
export function responseKeysOf(records: readonly MovedRecord[]): readonly string[] {
  const ids = records.flatMap((record) => (record.kind === 'response' ? [record.response.id, record.parentId] : []));
  return [...new Set(ids.filter((id) => id !== null).map(toKey))];
}

function runFields({ run: background }: MovedResponse): readonly (string | number)[] {
  if (background === null) return [];
  const { attempts, isStream, logExpiresAt } = background;
  const ended = logExpiresAt === null ? [] : ['ended', logExpiresAt];
  return ['attempt', 0, 'attempts', attempts, 'stream', isStream ? 1 : 0, ...ended];
}
