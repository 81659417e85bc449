import type { Tenant } from '../../access/index.js';
import type { Item, ResponseObject, StreamEvent } from '../../protocol/index.js';
import type { LogNote } from '../event-log.js';
import { interleave } from '../given-items.js';
import { toLabels } from '../keys.js';
import type { ResponseRecord } from '../response-store.js';
import type { MemoryConversation } from './conversation.js';
import { entriesOf, type SmallList } from './small-list.js';
import type { Sortable, SortedPlace } from './sorted-list.js';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The run of a background response. */
export interface NodeRun {
  /** The turn, as JSON; empty once it has ended. */
  turn: string;
  readonly isStream: boolean;
  /** Whether the response may be continued. */
  readonly isContinuable: boolean;
  /** The latest attempt, and how many count. */
  attempt: number;
  attempts: number;
  events: StreamEvent[];
  notes: LogNote[];
  /** When the events are dropped, milliseconds since the epoch; null before the response has ended. */
  logExpiresAt: number | null;
}

/** The members of a response that its end sets, if it runs in the background. */
type Changing = Pick<ResponseRecord, 'response' | 'given' | 'origin' | 'expiresAt'>;

/** A response in memory. Children point at their parent, so chains share the items of common ancestors. */
export interface Node extends Sortable, Pick<ResponseRecord, 'input' | 'sessionId'>, Mutable<Changing> {
  readonly tenant: Tenant;
  /** Null for a response whose client waited for it. */
  readonly run: NodeRun | null;
  /** Estimated bytes. */
  bytes: number;
  readonly parent: Node | null;
  /** The transcript before the input when the parent is not stored; else empty. */
  readonly inherited: readonly Item[];
  /** The conversation of the response, whose items before the place are its context. */
  place: { readonly conversation: MemoryConversation; readonly before: number } | null;
  /** Responses that continue it, including tombstones. */
  children: SmallList<Node>;
  /** The sessions of the response; undefined while that is only `sessionId`. */
  sessions: Set<string> | undefined;
  /** False once deleted, expired or evicted: a tombstone, stored only for its descendants. */
  alive: boolean;
}

/** What is remembered of a response that is gone: where it stood in its lists, and which they were. */
export interface GoneNode extends SortedPlace {
  readonly parentId: string | null;
  readonly sessions: readonly string[];
  readonly model: string;
  readonly status: ResponseObject['status'];
  /** The metadata of the response, as of `toLabels`: clients make that large. */
  readonly labels: readonly string[];
}

/** What is remembered of a response when it goes. */
export function toGone(node: Node): GoneNode {
  const { tenant, id, createdAt, parent, response } = node;
  const { model, status, metadata } = response;
  const sessions = [...sessionsOf(node)];
  return {
    id,
    createdAt,
    parentId: parent?.id ?? null,
    sessions,
    model,
    status,
    labels: toLabels(tenant, metadata ?? {}),
  };
}

/** Whether others may continue a response and refer to its items: not if it was stored only to be polled. */
export function isContinuable({ run }: Node): boolean {
  return run?.isContinuable ?? true;
}

/** The input and output items of a response that others may refer to. */
export function itemsOf(node: Node): readonly Item[] {
  return isContinuable(node) ? [...node.input, ...node.response.output] : [];
}

/** A response and, with `cascade`, all that continue it, also those of deleted responses. */
export function subtreeOf(node: Node, cascade: boolean): readonly Node[] {
  return cascade ? [...descend(node, () => true)].map(([member]) => member) : [node];
}

/** Input, output and given items of a response and all its ancestors, oldest first. */
export function transcriptOf(node: Node): readonly Item[] {
  const path: Node[] = [];
  for (let current: Node | null = node; current !== null; current = current.parent) path.push(current);
  return path
    .reverse()
    .flatMap(({ inherited, place, input, response, given }) => [
      ...(place?.conversation.itemsBefore(place.before) ?? inherited),
      ...input,
      ...interleave(response.output, given),
    ]);
}

/** Whether a response, or one that it continues, was made in a conversation. */
export function isInConversation(node: Node): boolean {
  for (let current: Node | null = node; current !== null; current = current.parent) {
    if (current.place !== null) return true;
  }
  return false;
}

/** The sessions of a response. */
export function sessionsOf({ sessions, sessionId }: Node): Iterable<string> {
  return sessions ?? [sessionId];
}

/** Whether a response belongs to several sessions. */
export function isShared({ sessions }: Node): boolean {
  return sessions !== undefined && sessions.size > 1;
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
