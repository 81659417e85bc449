import type { DatabaseSync } from 'node:sqlite';

import type { SecretStore } from '../secret-store.js';
import type { Executed } from './executed.js';

/** What an export reads. */
export interface AllSecrets {
  /** All of them, by their names. */
  readonly all: () => Readonly<Record<string, string>>;
}

/** Secrets in SQLite. */
export function sqliteSecrets(database: DatabaseSync): Executed<SecretStore> & AllSecrets {
  const insert = database.prepare('INSERT OR IGNORE INTO secrets (name, value) VALUES (?, ?)');
  const select = database.prepare('SELECT value FROM secrets WHERE name = ?');
  const selectAll = database.prepare('SELECT name, value FROM secrets ORDER BY name');
  const find = (name: string): string | undefined => select.get(name)?.['value'] as string | undefined;
  return {
    getOrCreate: (name, proposal) => {
      insert.run(name, proposal);
      return find(name) ?? proposal;
    },

    find,

    all: () => Object.fromEntries(selectAll.all().map(({ name, value }) => [String(name), String(value)])),
  };
}
