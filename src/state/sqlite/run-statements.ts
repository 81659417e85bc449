import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

import type { AnyStatement } from '../sql/statement.js';

/** Runs statements; those of a list are prepared at once. */
export function statementRunner(database: DatabaseSync, list: readonly (AnyStatement | null)[]) {
  const prepare = ({ text }: AnyStatement): StatementSync => database.prepare(text.replaceAll(/\$(\d)/g, '?$1'));
  const prepared = new Map<string, StatementSync>();
  for (const statement of list) if (statement !== null) prepared.set(statement.text, prepare(statement));
  return (statement: AnyStatement, values: readonly unknown[]): readonly unknown[] =>
    (prepared.get(statement.text) ?? prepare(statement)).all(...values.map(toValue));
}

function toValue(value: unknown): SQLInputValue {
  return Array.isArray(value) ? JSON.stringify(value) : (value as SQLInputValue);
}
