/** `npm run migrate`: brings the schema of STATE=postgres up to date, and exits. */
import { loadEnvironment } from './config/index.js';
import { endWithReader, writeLine } from './logging/index.js';
import { POSTGRES_PACKAGES, requirePackages } from './require-packages.js';
import { describeStartFailure } from './program/start-failure.js';

/** Does so, and says what was applied, or why nothing was. */
export async function applyMigrations(): Promise<void> {
  endWithReader();
  try {
    requirePackages('The migration', ...POSTGRES_PACKAGES);
    const { migrate } = await import('./state/postgres/index.js');
    const applied = await migrate(loadEnvironment({ STATE: 'postgres' }));
    const names = applied.map((name) => `\n  ${name}`).join('');
    writeLine('log', applied.length === 0 ? 'The schema is up to date.' : `Applied:${names}`);
  } catch (error) {
    writeLine('error', describeStartFailure(error));
    process.exitCode = 1;
  }
}
