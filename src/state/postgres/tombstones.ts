import type { Clock } from '../../time/index.js';
import type { DeletionNotices } from '../deletion-notices.js';
import type { Database } from './database.js';
import { CHILDREN_OF, FREE, HOLD_TOMBSTONES, type Key, SWEEP, type SweptRow } from './statements/delete.js';
import { FORGET_LOCKS } from './statements/locks.js';

/** Most responses that are looked at in one statement. */
const BATCH = 1000;

const BEGINNING: SweptRow = { expires_at: '-infinity', owner: '', id: '' };

/** Frees responses that cannot be seen any more, as soon as nothing continues them. */
export class Tombstones {
  private position = BEGINNING;

  constructor(
    private readonly database: Database,
    private readonly notices: DeletionNotices,
    private readonly clock: Clock,
  ) {}

  /** Frees those of these responses that nothing continues, and then what only they continued. */
  async free(keys: readonly Key[]): Promise<void> {
    let doomed = keys;
    while (doomed.length > 0) {
      const ancestors = await this.freeBatch(doomed.slice(0, BATCH));
      doomed = [...doomed.slice(BATCH), ...ancestors];
    }
  }

  /**
   * Frees the next batch of what has expired; false when there is no more. Each process goes through all of it once; what
   * had descendants then is freed with the last of them.
   */
  async sweep(): Promise<boolean> {
    const { expires_at: expiresAt, owner, id } = this.position;
    const expired = await this.database.query(SWEEP, [this.now(), expiresAt, owner, id, BATCH]);
    this.position = expired.at(-1) ?? this.position;
    this.notices.announce(expired.map((row) => row.id));
    await this.free(expired);
    if (expired.length === BATCH) return true;
    await this.database.query(FORGET_LOCKS, []);
    return false;
  }

  /** Frees what it may of a batch; gives what the freed ones continued. */
  private freeBatch(keys: readonly Key[]): Promise<readonly Key[]> {
    return this.database.transaction(async (run) => {
      const held = await run(HOLD_TOMBSTONES, [...toArrays(keys), this.now()]);
      const links = await run(CHILDREN_OF, toArrays(held));
      const doomed = withoutNeeded(held, links);
      return doomed.length === 0 ? [] : run(FREE, toArrays(doomed));
    });
  }

  private now(): Date {
    return new Date(this.clock.now());
  }
}

function toArrays(keys: readonly Key[]): readonly [owners: readonly string[], ids: readonly string[]] {
  return [keys.map(({ owner }) => owner), keys.map(({ id }) => id)];
}

/** Leaves out what has a descendant outside of the batch. */
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
