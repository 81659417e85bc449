import type { Owner } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import type { DeletionNotices } from '../deletion-notices.js';
import { itemsOf, type Node } from './node.js';
import { SortedList } from './sorted-list.js';

/** What one owner has, by its ids. */
class Estate {
  readonly nodes = new Map<string, Node>();
  /** The living nodes that have an item, in the order in which they were saved, by its id. */
  readonly holders = new Map<string, Node[]>();
  readonly sessions = new Map<string, SortedList<Node>>();
  readonly list = new SortedList<Node>();
}

/** All responses of this process, and every way to find them. */
export class MemoryState {
  /** In the order in which they were saved. */
  private readonly nodes = new Set<Node>();
  /** Goes on where it was: one that begins anew would pass by all that are gone. */
  private oldest = this.nodes.values();
  private readonly estates = new Map<Owner, Estate>();
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

  has(owner: Owner, responseId: string): boolean {
    return this.estates.get(owner)?.nodes.has(responseId) === true;
  }

  /** A response that can be seen, within a session if one is named. */
  find(owner: Owner, responseId: string, within?: string): Node | undefined {
    const node = this.estates.get(owner)?.nodes.get(responseId);
    return node !== undefined && this.shows(node, within) ? node : undefined;
  }

  /** Whether a response can be seen. */
  shows(node: Node, within?: string): boolean {
    const lives = node.alive && node.expiresAt > this.clock.now();
    return lives && (within === undefined || node.sessions.has(within));
  }

  /** The latest response that can be seen and has an item. */
  holderOf(owner: Owner, itemId: string, within?: string): Node | undefined {
    return this.estates
      .get(owner)
      ?.holders.get(itemId)
      ?.findLast((node) => this.shows(node, within));
  }

  ofOwner(owner: Owner): SortedList<Node> {
    return this.estates.get(owner)?.list ?? new SortedList();
  }

  ofSession(owner: Owner, sessionId: string): SortedList<Node> {
    return this.estates.get(owner)?.sessions.get(sessionId) ?? new SortedList();
  }

  add(node: Node): void {
    const { owner, parent, id, sessionId, bytes } = node;
    const estate = this.estateOf(owner);
    parent?.children.add(node);
    this.nodes.add(node);
    estate.nodes.set(id, node);
    estate.list.add(node);
    this.join(node, sessionId);
    for (const item of itemsOf(node)) {
      const holders = estate.holders.get(item.id);
      if (holders === undefined) estate.holders.set(item.id, [node]);
      else holders.push(node);
    }
    this.total += bytes;
  }

  join(node: Node, sessionId: string): void {
    const { sessions } = this.estateOf(node.owner);
    const session = sessions.get(sessionId) ?? new SortedList();
    session.add(node);
    sessions.set(sessionId, session);
    node.sessions.add(sessionId);
  }

  leave(node: Node, sessionId: string): void {
    const { sessions } = this.estateOf(node.owner);
    const session = sessions.get(sessionId);
    session?.remove(node);
    if (session?.size === 0) sessions.delete(sessionId);
    node.sessions.delete(sessionId);
  }

  /** Drops what was saved first. */
  dropOldest(): void {
    let { value } = this.oldest.next();
    if (value === undefined) {
      this.oldest = this.nodes.values();
      ({ value } = this.oldest.next());
    }
    if (value !== undefined) this.drop(value);
  }

  /** Takes responses out of sight for good, and tells so. */
  delete(nodes: readonly Node[]): void {
    for (const node of nodes) this.drop(node);
    this.notices.announce(nodes.map(({ id }) => id));
  }

  /** Takes a node out of reach, and frees it and the ancestors that nobody needs any more. */
  drop(node: Node): void {
    const { owner, id } = node;
    const estate = this.estateOf(owner);
    this.nodes.delete(node);
    estate.nodes.delete(id);
    estate.list.remove(node);
    for (const sessionId of node.sessions) this.leave(node, sessionId);
    for (const item of itemsOf(node)) {
      const others = estate.holders.get(item.id)?.filter((holder) => holder !== node) ?? [];
      if (others.length > 0) estate.holders.set(item.id, others);
      else estate.holders.delete(item.id);
    }
    if (estate.list.size === 0) this.estates.delete(owner);
    node.alive = false;
    for (let current: Node | null = node; current !== null; current = current.parent) {
      if (current.alive || current.children.size > 0) return;
      this.total -= current.bytes;
      current.parent?.children.remove(current);
    }
  }

  private estateOf(owner: Owner): Estate {
    let estate = this.estates.get(owner);
    if (estate === undefined) this.estates.set(owner, (estate = new Estate()));
    return estate;
  }
}
