import { ConfigModule } from './config.module.js';
import type { Environment } from './environment.js';
import { readEnvironment } from './read-environment.js';
import { readTogether, type Variables } from './read-variables.js';

/**
 * Reads the environment without an application: `.env`, the variables of the process, and overrides. `others` read the
 * variables of modules, so that those are validated too. Throws EnvironmentError with the violations of all.
 */
export function loadEnvironment(
  overrides: Variables = {},
  ...others: readonly ((variables: Variables) => unknown)[]
): Environment {
  // Loads `.env` into the variables of the process.
  ConfigModule.forRoot();
  const [environment] = readTogether<[Environment, ...unknown[]]>(
    { ...process.env, ...overrides },
    readEnvironment,
    ...others,
  );
  return environment;
}
