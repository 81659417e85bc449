import type { Tenant } from '../access/index.js';
import type { Item } from '../protocol/index.js';
import { Roster } from '../roster.js';
import type { Continuation, Continuations } from './continuation.js';
import { heldBytesOf } from './continuation-cache.js';

/** The limits of what is remembered for HTTP. */
export interface RecentLimits {
  /** Most bytes, estimated; 0: nothing is remembered. */
  readonly maxBytes: number;
  /** Most bytes of one context. The store refuses those that are too long. */
  readonly maxContextBytes: number;
  /** Called after each look-up of a response. */
  readonly onLookup: (isHit: boolean) => void;
}

/** What an entry takes besides its items, in bytes. */
const ENTRY_BYTES = 1024;

/** What a call takes that a transcript remembers, in bytes. */
const CALL_BYTES = 100;

/** Items in memory, which several entries may share: they are freed when the last of these goes. */
interface Held {
  readonly responseIds: Set<string>;
  bytes: number;
}

interface Entry {
  readonly tenant: Tenant;
  readonly known: Continuation;
  /** Estimated bytes of its transcript. */
  readonly bytes: number;
  /** Estimated bytes besides the items. */
  readonly ownBytes: number;
  readonly held: Held;
}

/**
 * The stored responses that requests over HTTP have continued lately, and those that they have made, so that a process reads a chain from the
 * store once. They are immutable until they are deleted.
 */
export class RecentResponses {
  /** By the id of the response, least recently used first. */
  private readonly entries = new Map<string, Entry>();
  /** The turns that run. */
  private readonly turns = new Roster<RecentOfTurn>();
  private receivesDeletions = true;
  private total = 0;

  constructor(private readonly limits: RecentLimits) {}

  /** Estimated bytes of what is remembered. */
  get bytes(): number {
    return this.total;
  }

  /** What a turn sees. Call its `end` when the turn has ended. Undefined while nothing is remembered. */
  begin(tenant: Tenant): RecentOfTurn | undefined {
    if (this.limits.maxBytes === 0 || !this.receivesDeletions) return undefined;
    const turn = new RecentOfTurn(this, tenant);
    turn.place = this.turns.add(turn);
    return turn;
  }

  /** Drops deleted responses. */
  forget(gone: ReadonlySet<string>): void {
    for (const responseId of gone) this.drop(responseId);
    for (const turn of this.turns) turn.forget(gone);
  }

  /** Drops everything, until `resume`: deletions are not received. */
  interrupt(): void {
    this.receivesDeletions = false;
    this.entries.clear();
    this.total = 0;
    // Running turns may have read what has been deleted since.
    for (const turn of this.turns) this.leave(turn);
  }

  resume(): void {
    this.receivesDeletions = true;
  }

  /** For turns. */
  find(tenant: Tenant, responseId: string): Continuation | undefined {
    const entry = this.entries.get(responseId);
    const isKnown = entry?.tenant === tenant;
    this.limits.onLookup(isKnown);
    if (!isKnown) return undefined;
    this.entries.delete(responseId);
    this.entries.set(responseId, entry);
    return entry.known;
  }

  /** For turns: adds a response and the one that it continues. */
  remember(turn: RecentOfTurn, continuation: Continuation, parent: Continuation): void {
    if (turn.place === null) return;
    this.add(turn.tenant, continuation, this.add(turn.tenant, parent));
    for (const responseId of this.entries.keys()) {
      if (this.total <= this.limits.maxBytes) return;
      this.drop(responseId);
    }
  }

  /** For turns: ends one. Where it came to nothing, its input may stand in memory after the items of its parent, which are freed. */
  end(turn: RecentOfTurn, unused: string | null): void {
    this.leave(turn);
    const entry = unused === null ? undefined : this.entries.get(unused);
    for (const responseId of entry?.held.responseIds ?? []) this.drop(responseId);
  }

  private leave(turn: RecentOfTurn): void {
    if (turn.place !== null) this.turns.take(turn.place);
    turn.place = null;
  }

  private add(tenant: Tenant, known: Continuation, before?: Entry): Entry | undefined {
    const { responseId, transcript, expiresAt, isInConversation } = known;
    const entry = this.entries.get(responseId);
    if (entry !== undefined) return entry.known === known ? entry : undefined;
    // Only the store knows the items of a conversation. What is not stored ends with its turn.
    if (expiresAt === null || isInConversation) return undefined;
    const earlier = before?.known.transcript;
    const own = bytesOf(earlier === undefined ? transcript.items : transcript.itemsAfter(earlier));
    const bytes = own + (before?.bytes ?? 0);
    if (bytes > this.limits.maxContextBytes) return undefined;
    const shared = earlier !== undefined && transcript.sharesItemsWith(earlier) ? before?.held : undefined;
    const held = shared ?? { responseIds: new Set(), bytes: 0 };
    const growth = shared === undefined ? bytes : own;
    held.responseIds.add(responseId);
    held.bytes += growth;
    const ownBytes = ENTRY_BYTES + CALL_BYTES * transcript.ownCalls(earlier);
    this.total += growth + ownBytes;
    const added = { tenant, known, bytes, ownBytes, held };
    this.entries.set(responseId, added);
    return added;
  }

  private drop(responseId: string): void {
    const entry = this.entries.get(responseId);
    if (entry === undefined) return;
    this.entries.delete(responseId);
    const { held, ownBytes } = entry;
    held.responseIds.delete(responseId);
    this.total -= held.responseIds.size === 0 ? held.bytes + ownBytes : ownBytes;
  }
}

/** What a turn over HTTP sees of the responses of its tenant. */
export class RecentOfTurn implements Continuations {
  /** The place of the turn among those that run; null once nothing is remembered for it any more. */
  place: number | null = null;
  private parentId: string | null = null;
  private responseId: string | null = null;

  constructor(
    private readonly recent: RecentResponses,
    readonly tenant: Tenant,
  ) {}

  find(responseId: string): Continuation | undefined {
    this.parentId = responseId;
    return this.recent.find(this.tenant, responseId);
  }

  findConversation(): undefined {
    return undefined;
  }

  beginSave(responseId: string): void {
    this.responseId = responseId;
  }

  cancelSave(): void {
    this.responseId = null;
  }

  remember(continuation: Continuation, parent: Continuation | null): void {
    if (parent === null) return;
    this.recent.remember(this, continuation, parent);
    this.parentId = null;
  }

  /** The turn has ended, whatever has become of it. */
  end(): void {
    this.recent.end(this, this.parentId);
  }

  /** Responses were deleted: what this turn has read or saved of them is not remembered. */
  forget(gone: ReadonlySet<string>): void {
    const own = [this.parentId, this.responseId];
    if (own.some((id) => id !== null && gone.has(id))) this.recent.end(this, null);
  }
}

function bytesOf(items: readonly Item[]): number {
  return items.reduce((bytes, item) => bytes + heldBytesOf(item), 0);
}
