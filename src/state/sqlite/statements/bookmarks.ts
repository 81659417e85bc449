import type { DatabaseSync } from 'node:sqlite';

import { type Bookmark, BOOKMARK_MS } from '../../bookmark.js';
import { SESSIONS } from './leave-sessions.js';

/** What a bookmark says of response `r` besides its name. */
const PLACE = `r.created_at, (SELECT p.id FROM responses p WHERE p.response = r.parent) AS parent_id, r.model, r.status,
    (SELECT json_group_array(label) FROM labels WHERE response = r.response) AS labels`;

interface BookmarkRow {
  readonly created_at: number;
  readonly parent_id: string | null;
  readonly model: string;
  readonly status: string;
  /** JSON. */
  readonly labels: string;
  readonly sessions: string;
}

/** Knows where responses and items of conversations stood that are gone, for BOOKMARK_MS. Times are ms since the epoch. */
export function bookmarking(database: DatabaseSync) {
  const insert = database.prepare(
    `INSERT INTO bookmarks (owner, id, created_at, parent_id, model, status, labels, sessions, expires_at)
    SELECT r.owner, r.id, ${PLACE}, coalesce(?3, ${SESSIONS}), coalesce(?4, r.expires_at) + ${BOOKMARK_MS} FROM responses r
    WHERE r.response = ?1 AND coalesce(?4, r.expires_at) <= ?2 AND coalesce(?4, r.expires_at) > ?2 - ${BOOKMARK_MS}
    ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at WHERE expires_at < excluded.expires_at`,
  );
  // As it was remembered, or as it is if the purge has not come to it.
  const find = database.prepare(
    `SELECT 1 AS place, created_at, parent_id, model, status, labels, sessions FROM bookmarks
    WHERE owner = ?1 AND id = ?2 AND expires_at > ?3
    UNION ALL
    SELECT 2, ${PLACE}, ${SESSIONS} FROM responses r
    WHERE r.owner = ?1 AND r.id = ?2 AND r.expires_at <= ?3 AND r.expires_at > ?3 - ${BOOKMARK_MS}
    ORDER BY place LIMIT 1`,
  );
  const insertItem = database.prepare(
    `INSERT INTO item_bookmarks (conversation, key, position, expires_at) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET position = excluded.position, expires_at = excluded.expires_at`,
  );
  const findItem = database.prepare(
    'SELECT position FROM item_bookmarks WHERE conversation = ? AND key = ? AND expires_at > ?',
  );
  const forgetItems = database.prepare('DELETE FROM item_bookmarks WHERE conversation = ?');
  const purges = [
    purging(database, 'bookmarks', 'owner, id'),
    purging(database, 'item_bookmarks', 'conversation, key'),
  ];

  return {
    /** Remembers a response that was deleted, before it leaves its sessions. `sessions`: those that it has left already. */
    bookmarkDeleted: (response: number, now: number, sessions?: readonly string[]): void => {
      insert.run(response, now, sessions === undefined ? null : JSON.stringify(sessions), now);
    },

    /** Remembers a response, if it has expired, before it leaves its sessions. */
    bookmarkExpired: (response: number, now: number): void => {
      insert.run(response, now, null, null);
    },

    /** Where a response of a tenant stood, by their keys, that was deleted or has expired. */
    findBookmark: (owner: number, key: string, now: number): Bookmark | undefined => {
      const row = find.get(owner, key, now) as unknown as BookmarkRow | undefined;
      return (
        row && {
          createdAt: row.created_at,
          parentKey: row.parent_id,
          model: row.model,
          status: row.status,
          labels: JSON.parse(row.labels) as string[],
          sessions: JSON.parse(row.sessions) as string[],
        }
      );
    },

    /** Remembers an item that is deleted. */
    bookmarkItem: (conversation: number, key: string, position: number, now: number): void => {
      insertItem.run(conversation, key, position, now + BOOKMARK_MS);
    },

    /** The position that an item had before it was deleted. */
    findItemBookmark: (conversation: number, key: string, now: number): number | undefined =>
      findItem.get(conversation, key, now)?.['position'] as number | undefined,

    /** Forgets the items of a conversation, whose number may be given to another one. */
    forgetItemBookmarks: (conversation: number): void => {
      forgetItems.run(conversation);
    },

    /** Forgets what is too old, up to a number of each kind; whether there may be more. */
    purgeBookmarks: (now: number, limit: number): boolean =>
      // All of them: not `some`.
      purges.map((purge) => purge(now, limit)).includes(true),
  };
}

/** Deletes rows of a table that have expired, up to a number; whether there may be more. */
export function purging(database: DatabaseSync, table: string, key: string): (now: number, limit: number) => boolean {
  const old = `SELECT ${key} FROM ${table} WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2`;
  const purge = database.prepare(`DELETE FROM ${table} WHERE (${key}) IN (${old})`);
  return (now, limit) => purge.run(now, limit).changes === limit;
}
