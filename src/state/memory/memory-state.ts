import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import type { DeletionNotices } from '../deletion-notices.js';
import { belongsTo, isContinuable, itemsOf, type Node, sessionsOf } from './node.js';
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

/** All responses in memory, with their indexes. */
export class MemoryState {
  /** Called with each response that is deleted, expired or evicted. */
  onDrop: (node: Node) => void = () => undefined;
  /** In the order in which they were saved. Background responses are added when they end: until then they are not dropped. */
  private readonly nodes = new Set<Node>();
  /** A continued iteration: a new one would pass all deleted entries. */
  private oldest = this.nodes.values();
  private readonly indexes = new Map<Tenant, TenantIndex>();
  /** Estimated bytes of everything, tombstones included. */
  private total = 0;

  constructor(
    private readonly clock: Clock,
    private readonly notices: DeletionNotices,
  ) {}

  get bytes(): number {
    return this.total;
  }

  get size(): number {
    return this.nodes.size;
  }

  /** In the order in which they were saved. */
  all(): Iterable<Node> {
    return this.nodes;
  }

  has(tenant: Tenant, responseId: string): boolean {
    return this.indexes.get(tenant)?.nodes.has(responseId) === true;
  }

  /** A visible response, in the given session if any. */
  find(tenant: Tenant, responseId: string, within?: string): Node | undefined {
    const node = this.indexes.get(tenant)?.nodes.get(responseId);
    return node !== undefined && this.shows(node, within) ? node : undefined;
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

  add(node: Node): void {
    const { tenant, parent, id, sessionId, bytes } = node;
    const index = this.indexOf(tenant);
    if (parent !== null) parent.children = withEntry(parent.children, node);
    if (node.run === null) this.nodes.add(node);
    index.nodes.set(id, node);
    index.list.add(node);
    addTo(index.sessions, sessionId, node);
    for (const item of itemsOf(node)) addTo(index.holders, item.id, node);
    this.total += bytes;
  }

  /** A response has become larger. */
  grow(node: Node, bytes: number): void {
    node.bytes += bytes;
    this.total += bytes;
  }

  /** A background response has ended: its output is found by id, and it may be dropped. */
  settle(node: Node, bytes: number): void {
    this.grow(node, bytes);
    this.nodes.add(node);
    const { holders } = this.indexOf(node.tenant);
    if (isContinuable(node)) for (const { id } of node.response.output) addTo(holders, id, node);
  }

  join(node: Node, sessionId: string): void {
    addTo(this.indexOf(node.tenant).sessions, sessionId, node);
    node.sessions ??= new Set(sessionsOf(node));
    node.sessions.add(sessionId);
  }

  leave(node: Node, sessionId: string): void {
    removeFrom(this.indexOf(node.tenant).sessions, sessionId, node);
    node.sessions ??= new Set(sessionsOf(node));
    node.sessions.delete(sessionId);
  }

  /** Drops the response that was saved first; false when there is none. */
  dropOldest(): boolean {
    let { value } = this.oldest.next();
    if (value === undefined) {
      this.oldest = this.nodes.values();
      ({ value } = this.oldest.next());
    }
    if (value === undefined) return false;
    this.drop(value);
    return true;
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
    this.nodes.delete(node);
    index.nodes.delete(id);
    index.list.remove(node);
    for (const sessionId of sessionsOf(node)) removeFrom(index.sessions, sessionId, node);
    for (const item of itemsOf(node)) removeFrom(index.holders, item.id, node);
    if (index.list.size === 0) this.indexes.delete(tenant);
    node.alive = false;
    this.onDrop(node);
    for (let current: Node | null = node; current !== null; current = current.parent) {
      if (current.alive || current.children !== undefined) return;
      this.total -= current.bytes;
      if (current.parent !== null) current.parent.children = withoutEntry(current.parent.children, current);
    }
  }

  private indexOf(tenant: Tenant): TenantIndex {
    let index = this.indexes.get(tenant);
    if (index === undefined) this.indexes.set(tenant, (index = new TenantIndex()));
    return index;
  }
}

function addTo(lists: Map<string, SmallList<Node>>, name: string, node: Node): void {
  lists.set(name, withEntry(lists.get(name), node));
}

function removeFrom(lists: Map<string, SmallList<Node>>, name: string, node: Node): void {
  const rest = withoutEntry(lists.get(name), node);
  if (rest === undefined) lists.delete(name);
  else lists.set(name, rest);
}
