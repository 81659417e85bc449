/**
 * Writes what the documentation takes from the code: `node scripts/docs/main.ts`. With `--check` nothing is written, and the
 * exit code says whether all of it is current.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { toDemandTables, toWaitTable } from '../scale/tables.ts';
import { readErrors } from './read-errors.ts';
import { readVariables } from './read-variables.ts';
import { replaceGenerated } from './replace-generated.ts';
import { toEnvironmentExample, toErrorTable, toVariableTables } from './to-tables.ts';

/** The classes that declare variables, in the order in which they are shown. */
const VARIABLE_CLASSES = [
  { path: 'src/config/environment.ts', name: 'Environment' },
  { path: 'src/simulator/simulator-variables.ts', name: 'SimulatorVariables' },
];

const variables = VARIABLE_CLASSES.flatMap(({ path, name }) => readVariables(path, name));
const errors = readErrors('src/protocol/errors.ts', 'ERROR_CODES');

/** Each file, and what becomes of its text. */
const FILES: readonly (readonly [path: string, update: (text: string) => string])[] = [
  ['.env.example', () => toEnvironmentExample(variables)],
  ['docs/configuration.md', (text) => replaceGenerated(text, 'variables', toVariableTables(variables))],
  [
    'docs/scale.md',
    (text) => replaceGenerated(replaceGenerated(text, 'scale-demand', toDemandTables()), 'scale-waits', toWaitTable()),
  ],
  ['docs/errors.md', (text) => replaceGenerated(text, 'errors', toErrorTable(errors))],
];

const { check } = parseArgs({ options: { check: { type: 'boolean' } } }).values;
for (const [path, update] of FILES) {
  const file = new URL(`../../${path}`, import.meta.url);
  const before = readFileSync(file, 'utf8');
  const after = update(before);
  if (after === before) continue;
  if (check !== true) writeFileSync(file, after);
  else {
    process.stderr.write(`${path} is not what the code says: npm run docs\n`);
    process.exitCode = 1;
  }
}
