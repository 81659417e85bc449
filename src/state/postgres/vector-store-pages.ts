import { UnknownCursorError } from '../errors.js';
import { toKey } from '../keys.js';
import type { Page, PageRequest } from '../page.js';
import type { Database } from './database.js';
import { adHoc } from './statement.js';
import { directionOf } from './statements/page.js';
import type { Row } from './statements/vector-stores.js';

/** A page of vector stores, or of their files. `filter` is what entries that are listed have; a cursor may be another one. Throws UnknownCursorError. */
export async function readPage<T>(
  database: Database,
  table: 'vector_stores' | 'vector_store_files',
  within: Readonly<Record<string, string>>,
  filter: Readonly<Record<string, string>>,
  page: PageRequest,
  read: (about: string) => T,
): Promise<Page<T>> {
  const { limit, after, before } = page;
  const cursor = after ?? before;
  const [comparison, direction] = directionOf(page);
  const values: unknown[] = Object.values({ ...within, ...filter });
  let behind = '';
  if (cursor !== undefined) {
    const find = adHoc<readonly unknown[], { readonly created_at: string; readonly id: string }>(
      `SELECT created_at, id FROM antiphon.${table} WHERE ${equal({ ...within, id: cursor })}`,
    );
    const [place] = await database.repeatable(find, [...Object.values(within), toKey(cursor)]);
    if (place === undefined) throw new UnknownCursorError(page);
    behind = ` AND (created_at, id) ${comparison} ($${values.length + 1}, $${values.length + 2})`;
    values.push(place.created_at, place.id);
  }
  const select = adHoc<readonly unknown[], Row>(
    `SELECT about FROM antiphon.${table} WHERE ${equal({ ...within, ...filter })} AND gone_at IS NULL${behind}
    ORDER BY created_at ${direction}, id ${direction} LIMIT ${limit + 1}`,
  );
  const rows = await database.repeatable(select, values);
  const data = rows.slice(0, limit).map(({ about }) => read(about));
  return { data: before === undefined ? data : data.reverse(), hasMore: rows.length > limit };
}

/** A condition with a placeholder for each column, in their order. */
function equal(columns: Readonly<Record<string, string>>): string {
  return Object.keys(columns)
    .map((name, index) => `${name} = $${index + 1}`)
    .join(' AND ');
}
