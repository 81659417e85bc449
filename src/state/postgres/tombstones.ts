import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import type { Clock } from '../../time/index.js';
import type { DeletionNotices } from '../notices.js';
import type { Database } from './database.js';
import { CHILDREN_OF, FREE, HOLD_TOMBSTONES, type Key, SWEEP, type SweptRow } from './statements/delete.js';
import { FORGET_EXPIRED } from './statements/bookmarks.js';
import { FORGET_LIMITS } from './limits.js';
import { FORGET_LOCKS } from './statements/locks.js';

/** Most responses per statement. */
const BATCH = 1000;

const BEGINNING: Pick<SweptRow, 'expires_at' | 'owner' | 'id'> = { expires_at: '-infinity', owner: '', id: '' };

/** Sweeps after which the position is reset, for rows left by crashed processes. */
const SWEEPS_IN_A_ROUND = 60;

/** Frees invisible responses as soon as no response continues them. */
export class Tombstones {
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
