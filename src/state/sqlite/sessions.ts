import type { SessionStore } from '../session-store.js';
import type { DatabaseThread } from './database-thread.js';
import type { SqliteTombstones } from './tombstones.js';

/** Sessions of responses in SQLite. */
export function sqliteSessions(thread: DatabaseThread, tombstones: SqliteTombstones): SessionStore {
  return {
    ...thread.contract('sessions', ['fork', 'hasAtLeast']),

    delete: async (tenant, sessionId) => {
      const deleted = await thread.call('sessions.delete', tenant, sessionId);
      if (deleted === undefined) return false;
      // The remaining responses now belong to other sessions; cached copies are outdated.
      await tombstones.bury(deleted.gone, deleted.members);
      return true;
    },
  };
}
