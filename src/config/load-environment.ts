import { ConfigModule } from './config.module.js';
import type { Environment } from './environment.js';
import { readEnvironment } from './read-environment.js';
import { readTogether, type Variables } from './read-variables.js';

/**
 * The environment without an application: `.env`, the process's variables, and what is set on top. `others` read variables of
 * modules, so that theirs are checked as well. Throws EnvironmentError with the violations of all.
 */
export function loadEnvironment(
  overrides: Variables = {},
  ...others: readonly ((variables: Variables) => unknown)[]
): Environment {
  // Puts what `.env` says into the process's variables.
  ConfigModule.forRoot();
  const [environment] = readTogether<[Environment, ...unknown[]]>(
    { ...process.env, ...overrides },
    readEnvironment,
    ...others,
  );
  return environment;
}
