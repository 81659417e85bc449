import { type Tenant, tenantKey } from '../../access/index.js';
import type { Environment } from '../../config/index.js';
import type { Clock } from '../../time/index.js';
import type { DeletionNotices } from '../notices.js';
import { StoreUnavailableError } from '../errors.js';
import type { MovedEntry } from '../state-transfer.js';
import { BOOKMARK_MS } from '../bookmark.js';
import { Bookmarks } from './bookmarks.js';
import { bytesOf, MemoryConversation, type NewEntry } from './conversation.js';
import { MemoryConversationIndex } from './conversation-index.js';
import { belongsTo, type GoneNode, isContinuable, itemsOf, type Node, sessionsOf, toGone } from './node.js';
import { findLast, type SmallList, toSortedList, withEntry, withoutEntry } from './small-list.js';
import { SortedList } from './sorted-list.js';

/** The responses and sessions of one tenant. */
class TenantIndex {
  readonly nodes = new Map<string, Node>();
  /** Live nodes by the ids of their items. */
  readonly holders = new Map<string, SmallList<Node>>();
  readonly sessions = new Map<string, SmallList<Node>>();
  readonly list = new SortedList<Node>();
}

/** The share of MEMORY_MAX_BYTES that is at most given to what is remembered of responses that are gone, and as much again for items. */
const BOOKMARK_SHARE = 1 / 16;
/** What a response takes for each further session that it is in. */
const MEMBERSHIP_BYTES = 100;

/** The limits of the state. */
export type MemoryLimits = Pick<Environment, 'MEMORY_MAX_BYTES' | 'MEMORY_MAX_RESPONSES'>;

/**
 * All responses and conversations in memory, with their indexes, bounded by count and bytes. When it is full, what was
 * written longest ago is dropped; items stay as long as a stored transcript needs them.
 */
export class MemoryState {
  /** Called with each response that is deleted, expired or evicted. */
  onDrop: (node: Node) => void = () => undefined;
  readonly conversations = new MemoryConversationIndex();
  /**
   * In the order in which they were written last. Background responses are added when they end: until then they are not
   * dropped.
   */
  private readonly written = new Set<Node | MemoryConversation>();
  /**
   * A continued iteration while the state is full: a new one would pass all deleted entries. Not kept otherwise: one that rests keeps
   * everything that was in the set since then.
   */
  private oldest: Iterator<Node | MemoryConversation, undefined> | undefined;
  private readonly indexes = new Map<Tenant, TenantIndex>();
  /** By tenant and id. */
  private readonly goneNodes: Bookmarks<GoneNode>;
  /** The positions of deleted items, by tenant, conversation and item. */
  private readonly goneItems: Bookmarks<number>;
  /** In how many sessions responses are, beyond one each. */
  private memberships = 0;
  /** Estimated bytes of all content, tombstones included. */
  private total = 0;

  constructor(
    private readonly clock: Clock,
    private readonly notices: DeletionNotices,
    private readonly limits: MemoryLimits,
  ) {
    const bounds = { entries: limits.MEMORY_MAX_RESPONSES, bytes: limits.MEMORY_MAX_BYTES * BOOKMARK_SHARE };
    this.goneNodes = new Bookmarks(clock, bounds);
    this.goneItems = new Bookmarks(clock, bounds);
  }

  get bytes(): number {
    return this.total;
  }

  /** The responses that may be dropped, in the order in which they were saved. */
  *all(): Iterable<Node> {
    for (const one of this.written) if (!(one instanceof MemoryConversation)) yield one;
  }

  /** The tenants that have responses. */
  get tenants(): Iterable<Tenant> {
    return this.indexes.keys();
  }

  has(tenant: Tenant, responseId: string): boolean {
    return this.stored(tenant, responseId) !== undefined;
  }

  /** A response that may have expired. */
  stored(tenant: Tenant, responseId: string): Node | undefined {
    return this.indexes.get(tenant)?.nodes.get(responseId);
  }

  /** A visible response, in the given session if any. */
  find(tenant: Tenant, responseId: string, within?: string): Node | undefined {
    const node = this.stored(tenant, responseId);
    return node !== undefined && this.shows(node, within) ? node : undefined;
  }

  /** Where a response stood that was dropped or has expired, for BOOKMARK_MS. */
  findGone(tenant: Tenant, responseId: string): GoneNode | undefined {
    const node = this.stored(tenant, responseId);
    if (node === undefined) return this.goneNodes.find(tenantKey(tenant, responseId));
    const now = this.clock.now();
    return node.expiresAt <= now && node.expiresAt > now - BOOKMARK_MS ? toGone(node) : undefined;
  }

  /** Where an item that clients see stands in its conversation, or stood BOOKMARK_MS ago at most. */
  positionOf(conversation: MemoryConversation, itemId: string): number | undefined {
    return conversation.positionOf(itemId) ?? this.goneItems.find(nameOf(conversation, itemId));
  }

  /** Forgets where responses and items stood that have been gone for BOOKMARK_MS. */
  purgeBookmarks(): void {
    this.goneNodes.purge();
    this.goneItems.purge();
  }

  /** Whether a response is visible: live, not expired, and in the given session if any. */
  shows(node: Node, within?: string): boolean {
    const lives = node.alive && node.expiresAt > this.clock.now();
    return lives && (within === undefined || belongsTo(node, within));
  }

  /** The latest visible response with an item. */
  holderOf(tenant: Tenant, itemId: string, within?: string): Node | undefined {
    return findLast(this.indexes.get(tenant)?.holders.get(itemId), (node) => this.shows(node, within));
  }

  ofTenant(tenant: Tenant): SortedList<Node> {
    return this.indexes.get(tenant)?.list ?? new SortedList();
  }

  ofSession(tenant: Tenant, sessionId: string): SortedList<Node> {
    return toSortedList(this.indexes.get(tenant)?.sessions.get(sessionId));
  }

  /** How many visible responses a session has; no further than `most`. */
  countInSession(tenant: Tenant, sessionId: string, most: number): number {
    let count = 0;
    for (const node of this.ofSession(tenant, sessionId)) {
      if (count >= most) break;
      if (this.shows(node)) count += 1;
    }
    return count;
  }

  /** Throws StoreUnavailableError for a response that does not fit. */
  add(node: Node): void {
    const { tenant, parent, id, sessionId, bytes } = node;
    this.requireRoom('a response', bytes);
    const index = this.indexOf(tenant);
    if (parent !== null) parent.children = withEntry(parent.children, node);
    if (node.run === null) this.written.add(node);
    index.nodes.set(id, node);
    index.list.add(node);
    addTo(index.sessions, sessionId, node);
    for (const item of itemsOf(node)) addTo(index.holders, item.id, node);
    if (node.place !== null) this.hold(node.place.conversation);
    this.total += bytes;
    this.dropUntilItFits();
  }

  /** Throws StoreUnavailableError for a conversation that does not fit. */
  addConversation(conversation: MemoryConversation): void {
    this.requireRoom('a conversation', conversation.bytes);
    this.conversations.add(conversation);
    this.written.add(conversation);
    this.total += conversation.bytes;
    this.dropUntilItFits();
  }

  /** Throws StoreUnavailableError for a conversation that does not fit any more. */
  appendTo(conversation: MemoryConversation, entries: readonly NewEntry[]): void {
    this.requireRoom('a conversation', conversation.bytes + bytesOf(entries));
    const before = conversation.bytes;
    conversation.append(entries);
    this.conversations.addItems(conversation, entries);
    this.rewrite(conversation, before);
    this.dropUntilItFits();
  }

  /**
   * A turn is about to be saved and appended: its conversation is not dropped to make room for it. Throws
   * StoreUnavailableError when the conversation would not fit any more.
   */
  expectAppend(conversation: MemoryConversation, entries: readonly NewEntry[]): void {
    this.requireRoom('a conversation', conversation.bytes + bytesOf(entries));
    this.rewrite(conversation, conversation.bytes);
  }

  /** Puts entries of a conversation that is moved here at their places, once. */
  restoreTo(conversation: MemoryConversation, entries: readonly MovedEntry[]): void {
    const before = conversation.bytes;
    const added = conversation.restore(entries);
    // A deleted one is neither found nor counted before a response needs it.
    if (!conversation.alive) return;
    this.conversations.addItems(conversation, added);
    this.rewrite(conversation, before);
    this.dropUntilItFits();
  }

  /** Replaces what is known of a conversation besides its items. */
  updateConversation(conversation: MemoryConversation, record: MemoryConversation['record']): void {
    const before = conversation.bytes;
    conversation.update(record);
    this.rewrite(conversation, before);
    this.dropUntilItFits();
  }

  /** Removes an item from a conversation. */
  removeFrom(conversation: MemoryConversation, itemId: string): void {
    const before = conversation.bytes;
    const position = conversation.positionOf(itemId);
    if (position !== undefined) this.goneItems.set(nameOf(conversation, itemId), position);
    this.conversations.removeItem(conversation, itemId);
    conversation.remove(itemId);
    this.rewrite(conversation, before);
  }

  /** A conversation is not found any more. It is freed with the last response that was made in it. */
  dropConversation(conversation: MemoryConversation): void {
    this.written.delete(conversation);
    this.conversations.remove(conversation);
    conversation.alive = false;
    this.freeIfUnneeded(conversation);
  }

  /** A background response that has ended was made in a conversation. */
  place(node: Node, place: NonNullable<Node['place']>): void {
    node.place = place;
    this.hold(place.conversation);
  }

  /** A response has become larger. */
  grow(node: Node, bytes: number): void {
    node.bytes += bytes;
    this.total += bytes;
  }

  /** A background response has ended: its output is found by id, and it may be dropped. */
  settle(node: Node, bytes: number): void {
    this.grow(node, bytes);
    this.written.add(node);
    const { holders } = this.indexOf(node.tenant);
    if (isContinuable(node)) for (const { id } of node.response.output) addTo(holders, id, node);
  }

  join(node: Node, sessionId: string): void {
    addTo(this.indexOf(node.tenant).sessions, sessionId, node);
    node.sessions ??= new Set(sessionsOf(node));
    node.sessions.add(sessionId);
    this.memberships += 1;
  }

  leave(node: Node, sessionId: string): void {
    removeFrom(this.indexOf(node.tenant).sessions, sessionId, node);
    node.sessions ??= new Set(sessionsOf(node));
    node.sessions.delete(sessionId);
    this.memberships -= 1;
  }

  /** Drops what was written longest ago until the rest is within the limits. */
  dropUntilItFits(): void {
    if (!this.isFull()) this.oldest = undefined;
    while (this.isFull()) {
      // The only entry left may fit once nothing is kept of deleted ones.
      if (this.written.size === 1 && this.goneNodes.bytes + this.goneItems.bytes > 0) {
        this.goneNodes.clear();
        this.goneItems.clear();
        continue;
      }
      const oldest = this.findOldest();
      if (oldest === undefined) return;
      if (oldest instanceof MemoryConversation) this.dropConversation(oldest);
      else this.drop(oldest);
    }
  }

  /** Deletes responses and reports it. */
  delete(nodes: readonly Node[]): void {
    for (const node of nodes) this.drop(node);
    this.notices.announce(nodes.map(({ id }) => id));
  }

  /** Removes a node from all indexes, and frees it and its deleted ancestors that have no other descendants. */
  drop(node: Node): void {
    const { tenant, id } = node;
    const index = this.indexOf(tenant);
    this.goneNodes.set(tenantKey(tenant, id), toGone(node), Math.min(node.expiresAt, this.clock.now()));
    this.written.delete(node);
    index.nodes.delete(id);
    index.list.remove(node);
    for (const sessionId of sessionsOf(node)) removeFrom(index.sessions, sessionId, node);
    this.memberships -= (node.sessions?.size ?? 1) - 1;
    for (const item of itemsOf(node)) removeFrom(index.holders, item.id, node);
    if (index.list.size === 0) this.indexes.delete(tenant);
    node.alive = false;
    this.onDrop(node);
    for (let current: Node | null = node; current !== null; current = current.parent) {
      if (current.alive || current.children !== undefined) return;
      this.total -= current.bytes;
      this.release(current);
      if (current.parent !== null) current.parent.children = withoutEntry(current.parent.children, current);
    }
  }

  private isFull(): boolean {
    const { MEMORY_MAX_BYTES, MEMORY_MAX_RESPONSES } = this.limits;
    return this.written.size > MEMORY_MAX_RESPONSES || this.total + this.bytesBeside > MEMORY_MAX_BYTES;
  }

  /** What is kept of responses beside their content. */
  private get bytesBeside(): number {
    return this.goneNodes.bytes + this.goneItems.bytes + this.memberships * MEMBERSHIP_BYTES;
  }

  private findOldest(): Node | MemoryConversation | undefined {
    const value = this.oldest?.next().value;
    if (value !== undefined) return value;
    this.oldest = this.written.values();
    return this.oldest.next().value;
  }

  private requireRoom(what: string, bytes: number): void {
    if (bytes <= this.limits.MEMORY_MAX_BYTES) return;
    throw new StoreUnavailableError(`${what} of ${bytes} bytes does not fit in MEMORY_MAX_BYTES`);
  }

  /** A conversation was changed: it is the last to be dropped now. */
  private rewrite(conversation: MemoryConversation, bytesBefore: number): void {
    this.total += conversation.bytes - bytesBefore;
    this.written.delete(conversation);
    this.written.add(conversation);
  }

  /** A response needs its conversation. One that was moved here as deleted takes memory from then on. */
  private hold(conversation: MemoryConversation): void {
    if (!conversation.alive && conversation.responses === 0) this.total += conversation.bytes;
    conversation.responses += 1;
  }

  /** A response is freed: it needs its conversation no longer. */
  private release({ place }: Node): void {
    if (place === null) return;
    place.conversation.responses -= 1;
    this.freeIfUnneeded(place.conversation);
  }

  private freeIfUnneeded({ alive, responses, bytes }: MemoryConversation): void {
    if (!alive && responses === 0) this.total -= bytes;
  }

  private indexOf(tenant: Tenant): TenantIndex {
    let index = this.indexes.get(tenant);
    if (index === undefined) this.indexes.set(tenant, (index = new TenantIndex()));
    return index;
  }
}

function nameOf({ tenant, id }: MemoryConversation, itemId: string): string {
  return tenantKey(tenant, JSON.stringify([id, itemId]));
}

function addTo(lists: Map<string, SmallList<Node>>, name: string, node: Node): void {
  lists.set(name, withEntry(lists.get(name), node));
}

function removeFrom(lists: Map<string, SmallList<Node>>, name: string, node: Node): void {
  const rest = withoutEntry(lists.get(name), node);
  if (rest === undefined) lists.delete(name);
  else lists.set(name, rest);
}
