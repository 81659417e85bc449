/** `npm run migrate`: brings the schema of STATE=postgres up to date, and exits. */
import { loadEnvironment } from './config/index.js';
import { describeStartFailure } from './start-failure.js';
import { migrate } from './state/postgres/index.js';

try {
  const applied = await migrate(loadEnvironment({ STATE: 'postgres' }));
  const names = applied.map((name) => `\n  ${name}`).join('');
  process.stdout.write(applied.length === 0 ? 'The schema is up to date.\n' : `Applied:${names}\n`);
} catch (error) {
  process.stderr.write(`${describeStartFailure(error)}\n`);
  process.exitCode = 1;
}
