import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import type { Clock } from '../../time/index.js';
import type { DeletionNotices } from '../notices.js';
import { adHoc, prepared } from '../sql/statement.js';
import type { Database } from './database.js';
import { FORGET_LIMITS } from './limits.js';
import { FORGET_LOCKS } from './locks.js';
import { FORGET_EXPIRED, remember } from './statements/bookmarks.js';
import { notifyReplicas, SUBTREE, type Viewer, VISIBLE } from './statements/visible.js';

/** Responses that were visible and no longer are. */
export interface GoneRow {
  readonly ids: readonly string[];
}

/** Hides a response and, with `$5`, all visible responses that continue it. Rows stay until they are freed. */
export const DELETE = prepared<readonly [...Viewer, responseId: string, cascade: boolean], GoneRow>(
  'delete',
  `WITH RECURSIVE ${SUBTREE}, gone AS (
    UPDATE antiphon.responses r SET expires_at = '-infinity' FROM subtree
    WHERE r.id = subtree.id AND ${VISIBLE}
    RETURNING r.owner, r.id
  ), remembered AS (
    ${remember('gone', '$2')}
  ), memberships AS (
    DELETE FROM antiphon.session_responses s USING gone WHERE s.owner = $1 AND s.response_id = gone.id
  )
  SELECT array(SELECT id FROM gone) AS ids, ${notifyReplicas('gone')} AS notices`,
);

/** The values of SWEEP: the time limit, the position to continue after, and the number of rows. */
type SweepValues = readonly [now: Date, expiresAt: string, owner: string, id: string, limit: number];

/** The primary key of a response. */
interface Key {
  readonly owner: string;
  readonly id: string;
}

/** The position of a sweep. */
interface SweptRow extends Key {
  readonly expires_at: string;
  /** Whether a response continues it. */
  readonly needed: boolean;
}

/**
 * The next expired responses after a position; removes them from their sessions and notifies replicas. Only one replica
 * sweeps at a time; others get no rows.
 */
const SWEEP = adHoc<SweepValues, SweptRow>(
  `WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended('antiphon sweep', 0)) AS is_ours
  ), expired AS (
    SELECT r.expires_at, r.owner, r.id FROM turn, antiphon.responses r
    WHERE turn.is_ours AND r.expires_at <= $1 AND (r.expires_at, r.owner, r.id) > ($2::timestamptz, $3::text, $4::text)
    ORDER BY r.expires_at, r.owner, r.id LIMIT $5
  ), gone AS (
    SELECT id FROM expired WHERE expires_at > '-infinity'
  ), remembered AS (
    ${remember('expired', '$1')}
  ), memberships AS (
    DELETE FROM antiphon.session_responses s USING expired WHERE s.owner = expired.owner AND s.response_id = expired.id
  )
  SELECT expires_at::text, owner, id, ${notifyReplicas('gone')} AS notices, expired.id IN (
    SELECT c.parent_id FROM antiphon.responses c WHERE c.owner = expired.owner AND c.parent_id = expired.id
  ) AS needed FROM expired ORDER BY expired.expires_at, owner, id`,
);

type Keys = readonly [owners: readonly string[], ids: readonly string[]];

/**
 * Locks invisible responses with some of their invisible ancestors, so that no new response can continue them. Always
 * in this order, to avoid deadlocks.
 */
const HOLD_TOMBSTONES = adHoc<readonly [...Keys, now: Date, limit: number], Key>(
  `WITH RECURSIVE up AS (
    SELECT r.owner, r.id, r.parent_id FROM unnest($1::text[], $2::text[]) AS key (owner, id)
    JOIN antiphon.responses r ON r.owner = key.owner AND r.id = key.id WHERE r.expires_at <= $3
    UNION
    SELECT r.owner, r.id, r.parent_id FROM up CROSS JOIN LATERAL (
      SELECT owner, id, parent_id FROM antiphon.responses
      WHERE owner = up.owner AND id = up.parent_id AND expires_at <= $3 OFFSET 0
    ) r
  ), nearest AS MATERIALIZED (
    SELECT owner, id FROM up LIMIT $4
  )
  SELECT r.owner, r.id FROM nearest JOIN antiphon.responses r ON r.owner = nearest.owner AND r.id = nearest.id
  WHERE r.expires_at <= $3 ORDER BY r.owner, r.id FOR UPDATE OF r`,
);

/** The responses that continue them. */
const CHILDREN_OF = adHoc<Keys, Key & { readonly parent_id: string }>(
  `SELECT r.owner, r.parent_id, r.id FROM unnest($1::text[], $2::text[]) AS key (owner, id)
  JOIN antiphon.responses r ON r.owner = key.owner AND r.parent_id = key.id`,
);

/** Frees them; returns their parents. They may have expired since the last sweep. */
const FREE = adHoc<readonly [...Keys, now: Date], Key>(
  `WITH freed AS (
    DELETE FROM antiphon.responses r USING unnest($1::text[], $2::text[]) AS key (owner, id)
    WHERE r.owner = key.owner AND r.id = key.id
    RETURNING r.owner, r.id, r.parent_id
  ), remembered AS (
    ${remember('freed', '$3')}
  )
  SELECT owner, parent_id AS id FROM freed WHERE parent_id IS NOT NULL EXCEPT SELECT owner, id FROM freed`,
);

/** Most responses per statement. */
const BATCH = 1000;

const BEGINNING: Pick<SweptRow, 'expires_at' | 'owner' | 'id'> = { expires_at: '-infinity', owner: '', id: '' };

/** Sweeps after which the position is reset, for rows left by crashed processes. */
const SWEEPS_IN_A_ROUND = 60;

/** Frees invisible responses as soon as no response continues them. */
export class PostgresTombstones {
  private readonly outages = new OutageLog(new Logger('Tombstones'));
  private position: typeof BEGINNING = BEGINNING;
  private sweeps = 0;

  constructor(
    private readonly database: Database,
    private readonly notices: DeletionNotices,
    private readonly clock: Clock,
  ) {}

  /**
   * Reports deleted responses, or those that are `changed`, and frees the deleted ones; a sweep frees the rest. Resolves
   * when up to one batch is freed; larger deletions continue in the background. Never rejects.
   */
  async bury(tenant: string, ids: readonly string[], changed = ids): Promise<void> {
    this.notices.announce(changed);
    const freeing = this.free(ids.map((id) => ({ owner: tenant, id }))).catch((error: unknown) => {
      this.outages.warn('deleted responses will be freed later', String(error));
    });
    if (ids.length <= BATCH) await freeing;
  }

  /**
   * Frees the next batch of expired responses, and forgets old bookmarks and claims; false when there are no more. A response with
   * descendants is freed with the last of them.
   */
  async sweep(): Promise<boolean> {
    const { expires_at: expiresAt, owner, id } = this.position;
    const expired = await this.database.query(SWEEP, [this.now(), expiresAt, owner, id, BATCH]);
    // Set first: an error must not block the following ones.
    this.position = expired.at(-1) ?? this.position;
    this.notices.announce(expired.map((row) => row.id));
    await this.free(expired.filter(({ needed }) => !needed));
    if (expired.length === BATCH) return true;
    await this.database.query(FORGET_LOCKS, []);
    await this.database.query(FORGET_LIMITS, []);
    const [forgotten] = await this.database.query(FORGET_EXPIRED, [this.now(), BATCH]);
    if (forgotten?.has_more === true) return true;
    this.sweeps += 1;
    if (this.sweeps % SWEEPS_IN_A_ROUND === 0) this.position = BEGINNING;
    return false;
  }

  /** Frees the responses without descendants, then ancestors that have none left. */
  private async free(keys: readonly Key[]): Promise<void> {
    let doomed = keys;
    while (doomed.length > 0) {
      const ancestors = await this.freeBatch(doomed.slice(0, BATCH));
      doomed = [...doomed.slice(BATCH), ...ancestors];
    }
  }

  /** Returns the parents of the freed responses. */
  private freeBatch(keys: readonly Key[]): Promise<readonly Key[]> {
    return this.database.transaction(async (run) => {
      const held = await run(HOLD_TOMBSTONES, [...toArrays(keys), this.now(), 2 * BATCH]);
      const links = await run(CHILDREN_OF, toArrays(held));
      const doomed = withoutNeeded(held, links);
      return doomed.length === 0 ? [] : run(FREE, [...toArrays(doomed), this.now()]);
    });
  }

  private now(): Date {
    return new Date(this.clock.now());
  }
}

function toArrays(keys: readonly Key[]): readonly [owners: readonly string[], ids: readonly string[]] {
  return [keys.map(({ owner }) => owner), keys.map(({ id }) => id)];
}

/** Omits responses with a descendant outside of the batch. */
function withoutNeeded(keys: readonly Key[], links: readonly (Key & { readonly parent_id: string })[]): readonly Key[] {
  const doomed = new Map(keys.map((key) => [nameOf(key.owner, key.id), key]));
  const parentOf = new Map(links.map(({ owner, id, parent_id: parent }) => [nameOf(owner, id), nameOf(owner, parent)]));
  for (const child of parentOf.keys()) {
    if (doomed.has(child)) continue;
    let needed = parentOf.get(child);
    while (needed !== undefined && doomed.delete(needed)) needed = parentOf.get(needed);
  }
  return [...doomed.values()];
}

/** Keys in the database hold no NUL. */
function nameOf(owner: string, id: string): string {
  return `${owner}\0${id}`;
}
