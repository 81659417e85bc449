import { type UsageQuery, type UsageRecord, UsageStore, type UsageSum } from '../usage-store.js';
import type { DatabaseThread } from './database-thread.js';

/** Usage in SQLite. */
export class SqliteUsageStore extends UsageStore {
  constructor(private readonly thread: DatabaseThread) {
    super();
  }

  override record(records: readonly UsageRecord[]): Promise<void> {
    return this.thread.call('recordUsage', records);
  }

  override report(query: UsageQuery): Promise<readonly UsageSum[]> {
    return this.thread.call('reportUsage', query);
  }

  override purge(now: number): Promise<boolean> {
    return this.thread.call('purgeUsage', now);
  }
}
