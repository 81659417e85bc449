import { ConfigModule, type Variables } from './config.module.js';
import type { Environment } from './environment.js';
import { readEnvironment } from './read-environment.js';

/** The environment without an application: `.env`, the process's variables, and what is set on top. Throws EnvironmentError. */
export function loadEnvironment(overrides: Variables = {}): Environment {
  // Puts what `.env` says into the process's variables.
  ConfigModule.forRoot();
  return readEnvironment({ ...process.env, ...overrides });
}
