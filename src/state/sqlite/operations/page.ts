import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

import type { Bookmark } from '../../bookmark.js';
import { UnknownCursorError } from '../../errors.js';
import { toKey } from '../../keys.js';
import { isForward, type Page, type PageRequest, toPage } from '../../page.js';
import type { StoredResponse } from '../../stored-response.js';
import { bookmarking } from './bookmarks.js';

/** A set of responses as SQL, for paging. */
export interface PageSource {
  /** `FROM … WHERE …`, with the response as `r`. */
  readonly rows: string;
  /** The table whose `created_at` and `id` give the order. */
  readonly order: string;
  /** The values of `?1` and so on; the first are the number of the tenant and the time. */
  readonly values: readonly [owner: number, now: number, ...SQLInputValue[]];
  /** Whether the set had a response that is gone. */
  readonly had: (gone: Bookmark) => boolean;
}

interface Candidate {
  readonly response: number;
  readonly size: number;
}

/** Reads pages of responses, bounded in number and size before bodies are read. */
export function responsePages(database: DatabaseSync) {
  // As many as there are combinations of filters.
  const statements = new Map<string, StatementSync>();
  const prepare = (text: string): StatementSync => {
    const statement = statements.get(text) ?? database.prepare(text);
    statements.set(text, statement);
    return statement;
  };
  const select = database.prepare('SELECT body, status, output FROM responses WHERE response = ?');

  const findPlace = database.prepare('SELECT created_at FROM responses WHERE owner = ? AND id = ?');
  /** Where the order has a response: a source is not searched for it from its beginning. */
  const placeOf = (owner: number, id: string): readonly [createdAt: number, id: string] | undefined => {
    const row = findPlace.get(owner, id);
    return row && [row['created_at'] as number, id];
  };

  const { findBookmark } = bookmarking(database);
  /** Where it had one that is gone. */
  const gonePlaceOf = ({ values: [owner, now], had }: PageSource, id: string): ReturnType<typeof placeOf> => {
    const gone = findBookmark(owner, id, now);
    return gone !== undefined && had(gone) ? [gone.createdAt, id] : undefined;
  };

  /** Throws UnknownCursorError. */
  return (source: PageSource, page: PageRequest): Page<StoredResponse> => {
    const { rows, order, values } = source;
    const { limit, after, before } = page;
    const cursor = after ?? before;
    const [comparison, direction] = isForward(page) ? ['>', 'ASC'] : ['<', 'DESC'];
    const next = values.length + 1;
    const limited = [...values, limit + 1];
    let behind = '';
    if (cursor !== undefined) {
      const stored = placeOf(values[0], toKey(cursor));
      const find = prepare(`SELECT 1 ${rows} AND ${order}.created_at = ?${next} AND ${order}.id = ?${next + 1}`);
      const isShown = stored !== undefined && find.get(...values, ...stored) !== undefined;
      const place = isShown ? stored : gonePlaceOf(source, toKey(cursor));
      if (place === undefined) throw new UnknownCursorError(page);
      behind = ` AND (${order}.created_at, ${order}.id) ${comparison} (?${next + 1}, ?${next + 2})`;
      limited.push(...place);
    }
    const text = `SELECT r.response, r.size ${rows}${behind}
      ORDER BY ${order}.created_at ${direction}, ${order}.id ${direction} LIMIT ?${next}`;
    const candidates = prepare(text).all(...limited) as unknown as Candidate[];
    const { data, hasMore } = toPage(candidates, page, ({ size }) => size);
    return { data: data.map(({ response }) => select.get(response) as unknown as StoredResponse), hasMore };
  };
}
