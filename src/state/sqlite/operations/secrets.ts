import type { DatabaseSync } from 'node:sqlite';

/** The secrets of the service. */
export function secretOperations(database: DatabaseSync) {
  const insert = database.prepare('INSERT OR IGNORE INTO secrets (name, value) VALUES (?, ?)');
  const select = database.prepare('SELECT value FROM secrets WHERE name = ?');
  const findSecret = (name: string): string | undefined => select.get(name)?.['value'] as string | undefined;
  const selectAll = database.prepare('SELECT name, value FROM secrets ORDER BY name');
  return {
    findSecret,
    allSecrets: (): readonly { readonly name: string; readonly value: string }[] =>
      selectAll.all() as unknown as readonly { readonly name: string; readonly value: string }[],
    getOrCreateSecret: (name: string, proposal: string): string => {
      insert.run(name, proposal);
      return findSecret(name) ?? proposal;
    },
  };
}
