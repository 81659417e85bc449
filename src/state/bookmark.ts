import { toKey } from './keys.js';
import type { ResponseFilter } from './response-graph.js';

/** How long a page can begin or end at an entry after it was deleted or has expired, ms. */
export const BOOKMARK_MS = 3_600_000;

/**
 * What is kept of a response for BOOKMARK_MS after it was deleted or has expired, so that its lists go on behind it: where it stood in
 * them, and which they were. Texts are as of `toKey`.
 */
export interface Bookmark {
  /** Unix seconds. */
  readonly createdAt: number;
  /** The response that it continued. */
  readonly parentKey: string | null;
  readonly model: string;
  readonly status: string;
  /** As of `toLabels`. */
  readonly labels: readonly string[];
  readonly sessions: readonly string[];
}

/** Whether the list of a filter had the response. `labels`: those of the filter's metadata. */
export function wasListed(bookmark: Bookmark, filter: ResponseFilter, labels: readonly string[] = []): boolean {
  const { sessionId, model, statuses, createdFrom = -Infinity, createdBefore = Infinity } = filter;
  if (sessionId !== undefined && !bookmark.sessions.includes(toKey(sessionId))) return false;
  if (model !== undefined && bookmark.model !== toKey(model)) return false;
  if (statuses?.includes(bookmark.status) === false) return false;
  if (bookmark.createdAt < createdFrom || bookmark.createdAt >= createdBefore) return false;
  return labels.every((label) => bookmark.labels.includes(label));
}
