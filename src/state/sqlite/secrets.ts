import { SecretStore } from '../secret-store.js';
import type { DatabaseThread } from './database-thread.js';

/** Secrets in SQLite. */
export class SqliteSecretStore extends SecretStore {
  constructor(private readonly thread: DatabaseThread) {
    super();
  }

  override getOrCreate(name: string, proposal: string): Promise<string> {
    return this.thread.call('getOrCreateSecret', name, proposal);
  }

  override find(name: string): Promise<string | undefined> {
    return this.thread.call('findSecret', name);
  }
}
