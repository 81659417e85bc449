import { type Owner, ownedKey } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import type { DeletionNotices } from '../deletion-notices.js';
import { itemsOf, type Node } from './node.js';
import { SortedList } from './sorted-list.js';

/** All responses of this process, and every way to find them. */
export class MemoryState {
  /** By owner and id, in the order in which they were saved. */
  private readonly nodes = new Map<string, Node>();
  /** The living nodes that have an item, in the order in which they were saved, by owner and item id. */
  private readonly holders = new Map<string, Node[]>();
  private readonly owners = new Map<Owner, SortedList<Node>>();
  /** By owner and session. */
  private readonly sessions = new Map<string, SortedList<Node>>();
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
    return this.nodes.values();
  }

  has(owner: Owner, responseId: string): boolean {
    return this.nodes.has(ownedKey(owner, responseId));
  }

  /** A response that can be seen, within a session if one is named. */
  find(owner: Owner, responseId: string, within?: string): Node | undefined {
    const node = this.nodes.get(ownedKey(owner, responseId));
    return node !== undefined && this.shows(node, within) ? node : undefined;
  }

  /** Whether a response can be seen. */
  shows(node: Node, within?: string): boolean {
    const lives = node.alive && node.expiresAt > this.clock.now();
    return lives && (within === undefined || node.sessions.has(within));
  }

  /** The latest response that can be seen and has an item. */
  holderOf(owner: Owner, itemId: string, within?: string): Node | undefined {
    return this.holders.get(ownedKey(owner, itemId))?.findLast((node) => this.shows(node, within));
  }

  ofOwner(owner: Owner): SortedList<Node> {
    return this.owners.get(owner) ?? new SortedList();
  }

  ofSession(owner: Owner, sessionId: string): SortedList<Node> {
    return this.sessions.get(ownedKey(owner, sessionId)) ?? new SortedList();
  }

  add(node: Node): void {
    const { owner, parent, id, sessionId, bytes } = node;
    parent?.children.add(node);
    this.nodes.set(ownedKey(owner, id), node);
    this.owners.set(owner, this.ofOwner(owner));
    this.ofOwner(owner).add(node);
    this.join(node, sessionId);
    for (const item of itemsOf(node)) this.holdersOf(ownedKey(owner, item.id)).push(node);
    this.total += bytes;
  }

  join(node: Node, sessionId: string): void {
    const { owner } = node;
    const session = this.ofSession(owner, sessionId);
    session.add(node);
    this.sessions.set(ownedKey(owner, sessionId), session);
    node.sessions.add(sessionId);
  }

  leave(node: Node, sessionId: string): void {
    const { owner } = node;
    const session = this.ofSession(owner, sessionId);
    session.remove(node);
    if (session.size === 0) this.sessions.delete(ownedKey(owner, sessionId));
    node.sessions.delete(sessionId);
  }

  /** Takes responses out of sight for good, and tells so. */
  delete(nodes: readonly Node[]): void {
    for (const node of nodes) this.drop(node);
    this.notices.announce(nodes.map(({ id }) => id));
  }

  /** Takes a node out of reach, and frees it and the ancestors that nobody needs any more. */
  drop(node: Node): void {
    const { owner, id } = node;
    this.nodes.delete(ownedKey(owner, id));
    this.ofOwner(owner).remove(node);
    if (this.ofOwner(owner).size === 0) this.owners.delete(owner);
    for (const sessionId of node.sessions) this.leave(node, sessionId);
    for (const item of itemsOf(node)) {
      const key = ownedKey(owner, item.id);
      const others = this.holdersOf(key).filter((holder) => holder !== node);
      if (others.length > 0) this.holders.set(key, others);
      else this.holders.delete(key);
    }
    node.alive = false;
    for (let current: Node | null = node; current !== null; current = current.parent) {
      if (current.alive || current.children.size > 0) return;
      this.total -= current.bytes;
      current.parent?.children.remove(current);
    }
  }

  private holdersOf(key: string): Node[] {
    let holders = this.holders.get(key);
    if (holders === undefined) this.holders.set(key, (holders = []));
    return holders;
  }
}
