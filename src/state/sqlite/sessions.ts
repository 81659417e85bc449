import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { type ForkOutcome, type ForkRequest, SessionStore } from '../session-store.js';
import type { DatabaseThread } from './database-thread.js';
import type { SqliteTombstones } from './tombstones.js';

/** Sessions of responses in SQLite. */
export class SqliteSessionStore extends SessionStore {
  constructor(
    private readonly thread: DatabaseThread,
    private readonly tombstones: SqliteTombstones,
    private readonly clock: Clock,
  ) {
    super();
  }

  override fork(tenant: Tenant, request: ForkRequest): Promise<ForkOutcome> {
    return this.thread.call('forkSession', tenant, this.clock.now(), request);
  }

  override async delete(tenant: Tenant, sessionId: string): Promise<boolean> {
    const deleted = await this.thread.call('deleteSession', tenant, this.clock.now(), sessionId);
    if (deleted === undefined) return false;
    // The remaining responses now belong to other sessions; cached copies are outdated.
    await this.tombstones.bury(deleted.gone, deleted.members);
    return true;
  }

  override hasAtLeast(tenant: Tenant, sessionId: string, responses: number): Promise<boolean> {
    return this.thread.call('sessionHasAtLeast', tenant, this.clock.now(), sessionId, responses);
  }
}
