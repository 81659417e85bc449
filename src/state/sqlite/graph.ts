import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

import { type Bookmark, wasListed } from '../bookmark.js';
import { GraphTooLargeError, UnknownCursorError } from '../errors.js';
import { toKey, toLabels } from '../keys.js';
import { cursorOf, type Page, type PageRequest, toPage } from '../page.js';
import { readablePage } from '../readable-page.js';
import { GRAPH_MAX_RESPONSES, type ResponseFilter, type ResponseGraph, type TreeBounds } from '../response-graph.js';
import { directionOf } from '../sql/pages.js';
import { readResponse, type StoredResponse, toTree, type TreeRow } from '../stored-response.js';
import type { ThreadGroup } from './executed.js';
import { bookmarking } from './statements/bookmarks.js';
import { CONTINUING, type LookValues, lookValues, tenantNumbers, VISIBLE } from './statements/visible.js';

/** Lists and trees for the process, which reads what the thread has found. */
export function graphOf(thread: ThreadGroup<ReturnType<typeof sqliteGraph>>): ResponseGraph {
  const around =
    (relatives: Relatives): ResponseGraph[Relatives] =>
    (tenant, responseId, page, within) =>
      readablePage(tenant, page, (asked) => thread.call(relatives, tenant, responseId, asked, within), readResponse);
  return {
    list: (tenant, filter, page) =>
      readablePage(tenant, page, (asked) => thread.call('list', tenant, filter, asked), readResponse),
    children: around('children'),
    siblings: around('siblings'),
    leaves: around('leaves'),
    tree: async (tenant, ...asked) => {
      const rows = await thread.call('tree', tenant, ...asked);
      return rows && toTree(tenant, rows);
    },
  };
}

/** The responses around a response. */
type Relatives = 'children' | 'siblings' | 'leaves';

/** What they are asked with. */
type Around = readonly [tenant: string, responseId: string, page: PageRequest, within?: string];

/** Whether a list around a response `?4` had one that is gone, given that it belongs to the session of the look-up. */
type Had = (values: LookValues, response: number, gone: Bookmark) => boolean;

interface NodeRow {
  readonly response: number;
  /** Null at the root. */
  readonly parent: number | null;
  readonly size: number;
}

/** The leaves of all branches from response `?4` on, among at most so many responses. */
const LEAVES = `(
    WITH RECURSIVE walk (response) AS (
      SELECT ?4 UNION ALL
      SELECT r.response FROM walk CROSS JOIN ${CONTINUING} ON r.parent = walk.response WHERE ${VISIBLE}
    )
    SELECT response FROM walk
    WHERE NOT EXISTS (SELECT 1 FROM ${CONTINUING} WHERE r.parent = walk.response AND ${VISIBLE})
  ) leaf CROSS JOIN responses r ON r.response = leaf.response WHERE true`;

/** Of a visible response `?4`. */
const RELATIVES: Readonly<Record<Relatives, string>> = {
  children: `FROM ${CONTINUING} WHERE r.parent = ?4 AND ${VISIBLE}`,
  siblings: `FROM ${CONTINUING} WHERE r.response <> ?4 AND ${VISIBLE} AND r.parent = (
    SELECT r.response FROM responses child CROSS JOIN responses r ON r.response = child.parent
    WHERE child.response = ?4 AND ${VISIBLE})`,
  leaves: `FROM ${LEAVES}`,
};

/** Lists and trees of responses in SQLite. */
export function sqliteGraph(database: DatabaseSync, now: () => number) {
  const tenants = tenantNumbers(database);
  const pageOf = responsePages(database);
  const { findBookmark } = bookmarking(database);
  const find = database.prepare(`SELECT r.response FROM responses r WHERE ${VISIBLE} AND r.id = ?4`);
  const count = database.prepare(
    `WITH RECURSIVE walk (response) AS (
      SELECT ?4 UNION ALL
      SELECT r.response FROM walk CROSS JOIN ${CONTINUING} ON r.parent = walk.response WHERE ${VISIBLE}
    ) SELECT count(*) AS responses FROM (SELECT 1 FROM walk LIMIT ?5)`,
  );
  const climb = database.prepare(
    `WITH RECURSIVE up (response, climbed) AS (
      SELECT ?4, 1 UNION ALL
      SELECT r.response, up.climbed + 1 FROM up CROSS JOIN responses here ON here.response = up.response
      CROSS JOIN responses r ON r.response = here.parent WHERE ${VISIBLE} AND up.climbed <= ?5
    ) SELECT response, climbed FROM up ORDER BY climbed DESC LIMIT 1`,
  );
  const childrenOf = database.prepare(
    `SELECT r.response, r.parent, r.size FROM ${CONTINUING} WHERE r.parent = ?4 AND ${VISIBLE}
    ORDER BY r.created_at, r.id LIMIT ?5`,
  );
  const sizeOf = database.prepare('SELECT response, NULL AS parent, size FROM responses WHERE response = ?');
  const select = database.prepare('SELECT id, body, status, output FROM responses WHERE response = ?');

  const keyOf = database.prepare('SELECT id FROM responses WHERE response = ?');
  const parentOf = database.prepare(
    'SELECT parent.id FROM responses r JOIN responses parent ON parent.response = r.parent WHERE r.response = ?',
  );
  const parentOfKey = database.prepare(
    'SELECT parent.id FROM responses r JOIN responses parent ON parent.response = r.parent WHERE r.owner = ? AND r.id = ?',
  );
  const had: Readonly<Record<Relatives, Had>> = {
    children: (_, response, gone) => gone.parentKey === keyOf.get(response)?.['id'],
    siblings: (_, response, gone) => gone.parentKey !== null && gone.parentKey === parentOf.get(response)?.['id'],
    leaves: ([owner, now], response, gone) => {
      const key = keyOf.get(response)?.['id'];
      let { parentKey } = gone;
      for (let climbed = 0; parentKey !== null && climbed < GRAPH_MAX_RESPONSES; climbed += 1) {
        if (parentKey === key) return true;
        const stored = parentOfKey.get(owner, parentKey)?.['id'] as string | undefined;
        parentKey = stored ?? findBookmark(owner, parentKey, now)?.parentKey ?? null;
      }
      return false;
    },
  };

  const findNumber = (values: LookValues, id: string): number | undefined =>
    find.get(...values, toKey(id))?.['response'] as number | undefined;

  /** The nearest to the root first, level by level, with the number of their children up to one more than the limit. */
  const descend = (values: LookValues, root: number, { depth, limit }: TreeBounds): readonly TreeRow[] => {
    const nodes = [{ ...(sizeOf.get(root) as unknown as NodeRow), level: 0 }];
    const children = new Map<number, number>();
    for (let index = 0; index < nodes.length && index < limit; index += 1) {
      const { response, level } = nodes[index] as (typeof nodes)[number];
      const next = childrenOf.all(...values, response, limit + 1) as unknown as NodeRow[];
      children.set(response, next.length);
      if (level < depth && nodes.length <= limit) nodes.push(...next.map((node) => ({ ...node, level: level + 1 })));
    }
    return toPage(nodes, { limit }, ({ size }) => size).data.map(({ response, parent }) => ({
      ...(select.get(response) as unknown as StoredResponse),
      key: response,
      parent,
      children: children.get(response) ?? 0,
    }));
  };

  /** A page of the relatives of a response; undefined when it is not found. */
  const around = (relatives: Relatives, ...[tenant, id, page, within]: Around): Page<StoredResponse> | undefined => {
    const values = lookValues(tenants, tenant, now(), within);
    const response = findNumber(values, id);
    if (response === undefined) return undefined;
    if (relatives === 'leaves') {
      const walked = count.get(...values, response, GRAPH_MAX_RESPONSES + 1)?.['responses'] as number;
      if (walked > GRAPH_MAX_RESPONSES) throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    }
    const source: PageSource = {
      rows: RELATIVES[relatives],
      order: 'r',
      values: [...values, response],
      had: (gone) =>
        wasListed(gone, within === undefined ? {} : { sessionId: within }) && had[relatives](values, response, gone),
    };
    return pageOf(source, page);
  };

  return {
    list: (tenant: string, filter: ResponseFilter, page: PageRequest): Page<StoredResponse> =>
      pageOf(filtered(tenants.find(tenant), tenant, now(), filter), page),

    children: (...asked: Around) => around('children', ...asked),

    siblings: (...asked: Around) => around('siblings', ...asked),

    leaves: (...asked: Around) => around('leaves', ...asked),

    /** From the earliest visible ancestor on, the root first; undefined when the response is not found. */
    tree: (tenant: string, id: string, bounds: TreeBounds, within?: string): readonly TreeRow[] | undefined => {
      const values = lookValues(tenants, tenant, now(), within);
      const response = findNumber(values, id);
      if (response === undefined) return undefined;
      const top = climb.get(...values, response, GRAPH_MAX_RESPONSES) as { response: number; climbed: number };
      if (top.climbed > GRAPH_MAX_RESPONSES) throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
      return descend(values, top.response, bounds);
    },
  };
}

/** The responses of a tenant that match a filter: from the shortest list that there is of them. */
function filtered(owner: number, tenant: string, now: number, filter: ResponseFilter): PageSource {
  const { sessionId, model, statuses, metadata, createdFrom, createdBefore } = filter;
  const values: [number, number, ...SQLInputValue[]] = [owner, now, sessionId === undefined ? null : toKey(sessionId)];
  const searched = toLabels(toKey(tenant), metadata ?? {});
  const [label, ...labels] = searched;
  let [tables, order, condition] = ['responses r', 'r', VISIBLE];
  const where = (text: (value: string) => string, value: SQLInputValue | undefined): void => {
    if (value === undefined) return;
    values.push(value);
    condition += ` AND ${text(`?${values.length}`)}`;
  };
  if (label !== undefined) {
    [tables, order] = ['labels l CROSS JOIN responses r ON r.response = l.response', 'l'];
    where((value) => `l.label = ${value}`, label);
  } else if (sessionId !== undefined) {
    [tables, order] = ['session_responses m CROSS JOIN responses r ON r.response = m.response', 'm'];
    condition = 'm.owner = ?1 AND m.session_id = ?3 AND r.expires_at > ?2';
  }
  for (const other of labels) {
    const has = 'SELECT 1 FROM labels o WHERE o.created_at = r.created_at AND o.id = r.id AND o.label';
    where((value) => `EXISTS (${has} = ${value})`, other);
  }
  where((value) => `r.model = ${value}`, model === undefined ? undefined : toKey(model));
  where((value) => `r.status IN (SELECT value FROM json_each(${value}))`, statuses && JSON.stringify(statuses));
  where((value) => `${order}.created_at >= ${value}`, createdFrom);
  where((value) => `${order}.created_at < ${value}`, createdBefore);
  const had = (gone: Bookmark): boolean => wasListed(gone, filter, searched);
  return { rows: `FROM ${tables} WHERE ${condition}`, order, values, had };
}

/** A set of responses as SQL, for paging. */
interface PageSource {
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
function responsePages(database: DatabaseSync) {
  // One statement per combination of filters, so that their number is bounded.
  const statements = new Map<string, StatementSync>();
  const prepare = (text: string): StatementSync => {
    const statement = statements.get(text) ?? database.prepare(text);
    statements.set(text, statement);
    return statement;
  };
  const select = database.prepare('SELECT id, body, status, output FROM responses WHERE response = ?');

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
    const cursor = cursorOf(page);
    const [comparison, direction] = directionOf(page);
    const next = values.length + 1;
    const limited = [...values, page.limit + 1];
    let behind = '';
    if (cursor !== undefined) {
      const stored = placeOf(values[0], cursor);
      const find = prepare(`SELECT 1 ${rows} AND ${order}.created_at = ?${next} AND ${order}.id = ?${next + 1}`);
      const isShown = stored !== undefined && find.get(...values, ...stored) !== undefined;
      const place = isShown ? stored : gonePlaceOf(source, cursor);
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
