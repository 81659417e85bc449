import { SecretStore } from '../secret-store.js';
import type { Database } from './database.js';

/** Secrets in PostgreSQL, for all replicas. */
export class PostgresSecretStore extends SecretStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async getOrCreate(_name: string, _proposal: string): Promise<string> {
    throw new Error(`not built: ${typeof this.database}`);
  }
}
