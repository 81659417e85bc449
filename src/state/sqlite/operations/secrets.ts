import type { DatabaseSync } from 'node:sqlite';

/** The secrets of the service. */
export function secretOperations(database: DatabaseSync) {
  const insert = database.prepare('INSERT OR IGNORE INTO secrets (name, value) VALUES (?, ?)');
  const select = database.prepare('SELECT value FROM secrets WHERE name = ?');
  const findSecret = (name: string): string | undefined => select.get(name)?.['value'] as string | undefined;
  return {
    findSecret,
    getOrCreateSecret: (name: string, proposal: string): string => {
      insert.run(name, proposal);
      return findSecret(name) ?? proposal;
    },
  };
}
