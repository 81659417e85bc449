import { ConfigModule } from './config.module.js';
import type { Environment } from './environment.js';
import { readEnvironment } from './read-environment.js';
import { readTogether, type Variables } from './read-variables.js';

/** The variables, with their defaults, that neither `.env` nor the process sets. An empty text counts as not set. */
export function unsetOf(defaults: Variables): Variables {
  loadFile();
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => (process.env[name] ?? '') === ''));
}

/**
 * Reads the environment without an application: `.env`, the variables of the process, and overrides. `others` read the
 * variables of modules, so that those are validated too. Throws EnvironmentError with the violations of all, and for a `.env` that cannot be
 * read.
 */
export function loadEnvironment(
  overrides: Variables = {},
  ...others: readonly ((variables: Variables) => unknown)[]
): Environment {
  loadFile();
  const [environment] = readTogether<[Environment, ...unknown[]]>(
    { ...process.env, ...overrides },
    readEnvironment,
    ...others,
  );
  return environment;
}

/** Loads `.env` into the variables of the process. */
function loadFile(): void {
  ConfigModule.forRoot();
}
