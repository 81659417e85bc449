import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import type { ResponseRecord } from '../response-store.js';
import { entriesOf, type SmallList } from './small-list.js';
import type { Sortable } from './sorted-list.js';

/** A response in memory. Children point at their parent, so a chain shares every item it has in common with others. */
export interface Node
  extends Sortable, Pick<ResponseRecord, 'response' | 'input' | 'given' | 'origin' | 'sessionId' | 'expiresAt'> {
  readonly tenant: Tenant;
  readonly parent: Node | null;
  /** What came before where the parent is not there any more; else empty. */
  readonly inherited: readonly Item[];
  /** What continues it, also what is only a tombstone. */
  children: SmallList<Node>;
  /** The sessions it belongs to; undefined as long as that is the one it was made in, and no fork of it. */
  sessions: Set<string> | undefined;
  /** False once deleted, expired or evicted: a tombstone, only there for its descendants. */
  alive: boolean;
}

/** The items a response brought with it and made. */
export function itemsOf({ input, response }: Node): readonly Item[] {
  return [...input, ...response.output];
}

/** The sessions a response belongs to. */
export function sessionsOf({ sessions, sessionId }: Node): Iterable<string> {
  return sessions ?? [sessionId];
}

/** Whether a response belongs to a session. */
export function belongsTo({ sessions, sessionId }: Node, wanted: string): boolean {
  return sessions === undefined ? sessionId === wanted : sessions.has(wanted);
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
    for (const child of entriesOf(node.children)) pending.push([child, level + 1]);
  }
}
