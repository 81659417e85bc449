import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { type ForkOutcome, type ForkRequest, SessionStore } from '../session-store.js';
import { toKey } from '../keys.js';
import type { Database } from './database.js';
import { DELETE_SESSION, FORK, HAS_AT_LEAST, HOLD_SESSIONS } from './statements/sessions.js';
import type { Tombstones } from './tombstones.js';

/** Sessions of responses in PostgreSQL. */
export class PostgresSessionStore extends SessionStore {
  constructor(
    private readonly database: Database,
    private readonly tombstones: Tombstones,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async fork(
    tenant: Tenant,
    { sourceId, targetId, upToResponseId, limit, forkLimit }: ForkRequest,
  ): Promise<ForkOutcome> {
    const key = toKey(tenant);
    const upTo = upToResponseId === undefined ? null : toKey(upToResponseId);
    const now = new Date(this.clock.now());
    const values = [key, now, toKey(sourceId), toKey(targetId), upTo, limit ?? null, forkLimit ?? null] as const;
    const [row] = await this.database.transaction(async (run) => {
      await run(HOLD_SESSIONS, [key]);
      return run(FORK, values);
    });
    if (row?.has_source !== true) return { refused: 'source_not_found' };
    if (!row.has_response) return { refused: 'response_not_found' };
    if (row.has_target) return { refused: 'target_exists' };
    if (row.responses > (limit ?? Infinity)) return { refused: 'too_many_responses' };
    if (row.is_crowded) return { refused: 'too_many_forks' };
    return { responses: row.responses };
  }

  override async delete(tenant: Tenant, sessionId: string): Promise<boolean> {
    const key = toKey(tenant);
    const values = [key, new Date(this.clock.now()), toKey(sessionId)] as const;
    const [row] = await this.database.transaction(async (run) => {
      await run(HOLD_SESSIONS, [key]);
      return run(DELETE_SESSION, values);
    });
    if (row === undefined) return false;
    await this.tombstones.bury(key, row.ids, row.members);
    return row.known;
  }

  override async hasAtLeast(tenant: Tenant, sessionId: string, responses: number): Promise<boolean> {
    const values = [toKey(tenant), new Date(this.clock.now()), toKey(sessionId), responses] as const;
    const [row] = await this.database.repeatable(HAS_AT_LEAST, values);
    return row?.has === true;
  }
}
