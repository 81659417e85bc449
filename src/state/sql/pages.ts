import { UnknownCursorError } from '../errors.js';
import { cursorOf, isForward, type Page, type PageRequest, toPage } from '../page.js';
import type { SqlDialect } from './dialect.js';
import { adHoc } from './statement.js';
import { rowOf, rowsOf, type Steps } from './steps.js';

/** The comparison with the cursor and the order of rows. */
type Direction = readonly [comparison: '>', order: 'ASC'] | readonly [comparison: '<', order: 'DESC'];

/** The direction of a page from its cursor. */
export function directionOf(page: Pick<PageRequest, 'order' | 'before'>): Direction {
  return isForward(page) ? ['>', 'ASC'] : ['<', 'DESC'];
}

type Columns = Readonly<Record<string, string | number>>;

/** What is paged: a table of records with `created_at` and `id`, by which it is ordered, and `about`. */
export interface PagedTable {
  readonly name: string;
  /** The columns, and their values, of all rows that can be in the list, also of those that are gone. */
  readonly within: Columns;
  /** Columns, and their values, that only listed rows must have, too; undefined: any value. */
  readonly filter: Readonly<Record<string, string | undefined>>;
  /** The condition of those that are listed. */
  readonly isListed?: string;
  /** The condition of those that can be a cursor. */
  readonly isCursor?: string;
}

/** A record of a page, as it is stored. */
export interface StoredRecord {
  /** As of `toKey`. */
  readonly id: string;
  /** JSON. */
  readonly about: string;
}

/**
 * A page of records, which are not read yet: a damaged one is to cost nothing but itself (`readablePage`). A cursor is an entry of the table, which is perhaps not listed, as it is gone or the filter leaves it out. Throws
 * UnknownCursorError.
 */
export function* readPage(
  dialect: SqlDialect,
  { name, within, filter, isListed = 'gone_at IS NULL', isCursor = 'true' }: PagedTable,
  page: PageRequest,
): Steps<Page<StoredRecord>> {
  const table = dialect.table(name);
  const cursor = cursorOf(page);
  const [comparison, direction] = directionOf(page);
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined);
  const listed = { ...within, ...(Object.fromEntries(wanted) as Columns) };
  const values: unknown[] = Object.values(listed);
  let behind = '';
  if (cursor !== undefined) {
    const find = adHoc<readonly unknown[], { readonly created_at: unknown; readonly id: string }>(
      `SELECT created_at, id FROM ${table} WHERE ${equal({ ...within, id: cursor })} AND ${isCursor}`,
    );
    const place = yield* rowOf(find, [...Object.values(within), cursor]);
    if (place === undefined) throw new UnknownCursorError(page);
    behind = ` AND (created_at, id) ${comparison} ($${values.length + 1}, $${values.length + 2})`;
    values.push(place.created_at, place.id);
  }
  const select = adHoc<readonly unknown[], StoredRecord>(
    `SELECT id, about FROM ${table} WHERE ${equal(listed)} AND ${isListed}${behind}
    ORDER BY created_at ${direction}, id ${direction} LIMIT ${page.limit + 1}`,
  );
  return toPage(yield* rowsOf(select, values), page);
}

/** A condition with a placeholder for each column, in their order. */
function equal(columns: Columns): string {
  return Object.keys(columns)
    .map((name, index) => `${name} = $${index + 1}`)
    .join(' AND ');
}
