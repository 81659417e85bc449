import type { Environment } from './environment.js';

/** Whether callers must show a credential; without any kind of one the service is open, to this machine only. */
export function hasCredentials({
  API_KEYS,
  KEYS_FILE,
  JWT_ISSUER,
}: Pick<Environment, 'API_KEYS' | 'KEYS_FILE' | 'JWT_ISSUER'>): boolean {
  return API_KEYS.length > 0 || KEYS_FILE !== '' || JWT_ISSUER !== '';
}
