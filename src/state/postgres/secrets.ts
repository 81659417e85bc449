import { SecretStore } from '../secret-store.js';
import { prepared } from '../sql/statement.js';
import type { Database } from './database.js';

/** Returns what is stored, by whomever: an insertion that does nothing would not see what another one has just added. */
const GET_OR_CREATE = prepared<readonly [name: string, proposal: string], { readonly value: string }>(
  'get_or_create_secret',
  `INSERT INTO antiphon.secrets AS s (name, value) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET value = s.value RETURNING s.value`,
);

const FIND = prepared<readonly [name: string], { readonly value: string }>(
  'find_secret',
  'SELECT value FROM antiphon.secrets WHERE name = $1',
);

/** Secrets in PostgreSQL, for all replicas. */
export class PostgresSecretStore extends SecretStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async getOrCreate(name: string, proposal: string): Promise<string> {
    const [row] = await this.database.repeatable(GET_OR_CREATE, [name, proposal]);
    if (row === undefined) throw new Error(`the secret ${name} was not stored`);
    return row.value;
  }

  override async find(name: string): Promise<string | undefined> {
    const [row] = await this.database.repeatable(FIND, [name]);
    return row?.value;
  }
}
