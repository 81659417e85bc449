import { randomUUID } from 'node:crypto';

import type { Tenant } from '../../access/index.js';
import type { InProcessJobQueue } from '../in-process/jobs.js';
import {
  type MovedConversation,
  type MovedEntries,
  type MovedJob,
  type MovedRecord,
  type MovedResponse,
  StateTransfer,
} from '../state-transfer.js';
import { withoutConversation, withoutParent } from '../moving.js';
import { MemoryConversation } from './conversation.js';
import { bytesOf } from './responses.js';
import type { MemoryEventLog } from './log.js';
import type { MemorySecretStore } from './secrets.js';
import type { MemoryState } from './state.js';
import { type Node, sessionsOf } from './node.js';

/** Most entries of a part. */
const PART = 1000;

/** Moves what is in memory; of the jobs those that wait. */
export class MemoryTransfer extends StateTransfer {
  /** The deleted conversations of the tenant that is written: nothing else refers to one before its first response. */
  private deleted: { readonly tenant: Tenant; readonly byId: Map<string, MemoryConversation> } | null = null;

  constructor(
    private readonly state: MemoryState,
    private readonly log: MemoryEventLog,
    private readonly queue: InProcessJobQueue,
    private readonly kept: MemorySecretStore,
  ) {
    super();
  }

  override async tenants(): Promise<readonly Tenant[]> {
    return [...new Set([...this.state.tenants, ...[...this.state.conversations.all].map(({ tenant }) => tenant)])];
  }

  override async *read(tenant: Tenant): AsyncGenerator<MovedRecord> {
    const seen = new Set<Node | MemoryConversation>();
    for (const conversation of [...this.state.conversations.all].filter((one) => one.tenant === tenant)) {
      seen.add(conversation);
      yield* readConversation(conversation);
    }
    for (const node of [...this.state.ofTenant(tenant)]) {
      const path: Node[] = [];
      for (let current: Node | null = node; current !== null && !seen.has(current); current = current.parent) {
        path.push(current);
      }
      for (const member of path.reverse()) {
        const conversation = member.place?.conversation;
        if (conversation !== undefined && !seen.has(conversation)) {
          seen.add(conversation);
          yield* readConversation(conversation);
        }
        seen.add(member);
        yield readResponse(member);
      }
    }
  }

  override async *jobs(): AsyncGenerator<MovedJob> {
    for (const { queue, id = randomUUID(), data } of [...this.queue.waiting()]) yield { kind: 'job', queue, id, data };
  }

  override async secrets(): Promise<Readonly<Record<string, string>>> {
    return this.kept.all;
  }

  override async write(tenant: Tenant, records: readonly MovedRecord[]): Promise<number> {
    if (this.deleted?.tenant !== tenant) this.deleted = { tenant, byId: deletedOf(this.state.ofTenant(tenant)) };
    let count = 0;
    for (const record of records) {
      if (record.kind === 'entries') this.writeEntries(tenant, record);
      else if (record.kind === 'conversation' ? this.addConversation(tenant, record) : this.add(tenant, record)) {
        count += 1;
      }
    }
    return count;
  }

  override async writeJobs(jobs: readonly MovedJob[]): Promise<void> {
    const known = new Set([...this.queue.waiting()].map(({ id }) => id));
    this.queue.add(jobs.filter(({ id }) => !known.has(id)));
  }

  private conversationOf(tenant: Tenant, id: string): MemoryConversation | undefined {
    return this.state.conversations.find(tenant, id) ?? this.deleted?.byId.get(id);
  }

  private addConversation(tenant: Tenant, { record, isDeleted, version, end }: MovedConversation): boolean {
    if (this.conversationOf(tenant, record.id) !== undefined) return false;
    const conversation = new MemoryConversation(tenant, record);
    Object.assign(conversation, { version, end, alive: !isDeleted });
    if (isDeleted) this.deleted?.byId.set(record.id, conversation);
    else this.state.addConversation(conversation);
    return true;
  }

  private writeEntries(tenant: Tenant, { conversationId, version, entries }: MovedEntries): void {
    const conversation = this.conversationOf(tenant, conversationId);
    if (conversation?.version === version) this.state.restoreTo(conversation, entries);
  }

  private add(tenant: Tenant, moved: MovedResponse): boolean {
    const { response, parentId, place, sessionId, sessions, run } = moved;
    if (this.state.has(tenant, response.id)) return false;
    const parent = parentId === null ? null : this.state.stored(tenant, parentId);
    if (parent === undefined) throw withoutParent(moved);
    const node: Node = {
      id: response.id,
      createdAt: response.created_at,
      tenant,
      response,
      input: moved.input,
      given: moved.given,
      origin: moved.origin,
      parent,
      inherited: moved.inherited,
      place: place && { conversation: this.requireConversation(tenant, moved), before: place.before },
      bytes: bytesOf(moved, moved.inherited),
      sessionId,
      // A response that is kept only for others is dropped by the next purge, like one that has expired.
      expiresAt: moved.expiresAt ?? Infinity,
      children: undefined,
      sessions: undefined,
      alive: true,
      run: run && { ...run, isContinuable: response.store, attempt: 0, events: [], notes: [] },
    };
    this.state.add(node);
    if (run !== null) this.log.restore(node, run.log);
    for (const name of sessions) if (name !== sessionId) this.state.join(node, name);
    if (!sessions.includes(sessionId)) this.state.leave(node, sessionId);
    return true;
  }

  private requireConversation(tenant: Tenant, moved: MovedResponse): MemoryConversation {
    const conversation = this.conversationOf(tenant, moved.place?.conversationId ?? '');
    if (conversation !== undefined) return conversation;
    throw withoutConversation(moved);
  }
}

/** The deleted conversations that responses were made in. */
function deletedOf(nodes: Iterable<Node>): Map<string, MemoryConversation> {
  const deleted = new Map<string, MemoryConversation>();
  const seen = new Set<Node>();
  for (const node of nodes) {
    for (let current: Node | null = node; current !== null && !seen.has(current); current = current.parent) {
      seen.add(current);
      const conversation = current.place?.conversation;
      if (conversation?.alive === false) deleted.set(conversation.id, conversation);
    }
  }
  return deleted;
}

function* readConversation(conversation: MemoryConversation): Generator<MovedRecord> {
  const { record, version, end, alive } = conversation;
  yield { kind: 'conversation', record, isDeleted: !alive, version, end };
  const entries = conversation.all.map(({ position, isGiven, item }) => ({ position, isGiven, item }));
  for (let first = 0; first < entries.length; first += PART) {
    yield { kind: 'entries', conversationId: record.id, version, entries: entries.slice(first, first + PART) };
  }
}

function readResponse(node: Node): MovedResponse {
  const { response, input, given, inherited, parent, origin, place, sessionId, alive, expiresAt, run } = node;
  return {
    kind: 'response',
    response,
    input,
    given,
    inherited,
    parentId: parent?.id ?? null,
    origin,
    place: place && { conversationId: place.conversation.id, before: place.before },
    sessionId,
    sessions: alive ? [...sessionsOf(node)] : [],
    expiresAt: alive ? (expiresAt === Infinity ? null : expiresAt) : 0,
    run: run && {
      turn: run.turn,
      isStream: run.isStream,
      attempts: run.attempts,
      logExpiresAt: run.logExpiresAt,
      log: { firstEvent: 0, firstNote: 0, events: run.events, notes: run.notes },
    },
  };
}
