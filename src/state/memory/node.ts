import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import type { ResponseRecord } from '../response-store.js';
import { entriesOf, type SmallList } from './small-list.js';
import type { Sortable } from './sorted-list.js';

/** A response in memory. Children point at their parent, so chains share the items of common ancestors. */
export interface Node
  extends Sortable, Pick<ResponseRecord, 'response' | 'input' | 'given' | 'origin' | 'sessionId' | 'expiresAt'> {
  readonly tenant: Tenant;
  readonly parent: Node | null;
  /** The transcript before the input when the parent is not stored; else empty. */
  readonly inherited: readonly Item[];
  /** Responses that continue it, including tombstones. */
  children: SmallList<Node>;
  /** Its sessions; undefined while that is only `sessionId`. */
  sessions: Set<string> | undefined;
  /** False once deleted, expired or evicted: a tombstone, stored only for its descendants. */
  alive: boolean;
}

/** The input and output items of a response. */
export function itemsOf({ input, response }: Node): readonly Item[] {
  return [...input, ...response.output];
}

/** The sessions of a response. */
export function sessionsOf({ sessions, sessionId }: Node): Iterable<string> {
  return sessions ?? [sessionId];
}

/** Whether a response belongs to a session. */
export function belongsTo({ sessions, sessionId }: Node, wanted: string): boolean {
  return sessions === undefined ? sessionId === wanted : sessions.has(wanted);
}

/** A node and its descendants with their level, nearest first; `includes` prunes branches. */
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
