import type { Owner } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import type { DeletionNotices } from '../deletion-notices.js';
import { type ForkOutcome, type ForkRequest, SessionStore } from '../session-store.js';
import type { Database } from './database.js';
import { toKey } from './keys.js';
import { DELETE_SESSION, FORK, HAS_AT_LEAST } from './statements/sessions.js';
import type { Tombstones } from './tombstones.js';

/** The sessions of what is in PostgreSQL. */
export class PostgresSessionStore extends SessionStore {
  constructor(
    private readonly database: Database,
    private readonly tombstones: Tombstones,
    private readonly notices: DeletionNotices,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async fork(owner: Owner, { sourceId, targetId, upToResponseId }: ForkRequest): Promise<ForkOutcome> {
    const [row] = await this.database.query(FORK, [
      toKey(owner),
      new Date(this.clock.now()),
      toKey(sourceId),
      toKey(targetId),
      upToResponseId === undefined ? null : toKey(upToResponseId),
    ]);
    if (row?.has_source !== true) return { refused: 'source_not_found' };
    if (!row.has_response) return { refused: 'response_not_found' };
    if (row.has_target) return { refused: 'target_exists' };
    return { responses: row.responses };
  }

  override async delete(owner: Owner, sessionId: string): Promise<boolean> {
    const key = toKey(owner);
    const [row] = await this.database.query(DELETE_SESSION, [key, new Date(this.clock.now()), toKey(sessionId)]);
    const ids = row?.ids ?? [];
    this.notices.announce(ids);
    await this.tombstones.free(ids.map((id) => ({ owner: key, id })));
    return row?.known === true;
  }

  override async hasAtLeast(owner: Owner, sessionId: string, responses: number): Promise<boolean> {
    const [row] = await this.database.repeatable(HAS_AT_LEAST, [toKey(owner), toKey(sessionId), responses]);
    return row?.has === true;
  }
}
