import type { Owner } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import type { ResponseRecord } from '../response-store.js';
import type { Sortable, SortedList } from './sorted-list.js';

/** A response in memory. Children point at their parent, so a chain shares every item it has in common with others. */
export interface Node
  extends Sortable, Pick<ResponseRecord, 'response' | 'input' | 'origin' | 'sessionId' | 'expiresAt'> {
  readonly owner: Owner;
  readonly parent: Node | null;
  /** What came before where the parent is not there any more; else empty. */
  readonly inherited: readonly Item[];
  /** What continues it, also what is only a tombstone. */
  readonly children: SortedList<Node>;
  /** The sessions it belongs to: the one it was made in, and forks of that. */
  readonly sessions: Set<string>;
  /** False once deleted, expired or evicted: a tombstone, only there for its descendants. */
  alive: boolean;
}

/** The items a response brought with it and made. */
export function itemsOf({ input, response }: Node): readonly Item[] {
  return [...input, ...response.output];
}

/** A node and those behind it with their level, nearest first; one that `includes` says no to ends its branch. */
export function* descend(
  root: Node,
  includes: (node: Node) => boolean,
): Generator<readonly [node: Node, level: number], void, undefined> {
  const pending: (readonly [Node, number])[] = [[root, 0]];
  for (const entry of pending) {
    const [node, level] = entry;
    if (!includes(node)) continue;
    yield entry;
    for (const child of node.children) pending.push([child, level + 1]);
  }
}
