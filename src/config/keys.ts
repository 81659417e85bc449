import { hash } from 'node:crypto';

import type { Environment } from './environment.js';

/** Whether callers must show a credential; without any kind of one the service is open, to this machine only. */
export function hasCredentials({
  API_KEYS,
  KEYS_FILE,
  JWT_ISSUER,
}: Pick<Environment, 'API_KEYS' | 'KEYS_FILE' | 'JWT_ISSUER'>): boolean {
  return API_KEYS.length > 0 || KEYS_FILE !== '' || JWT_ISSUER !== '';
}

/** The SHA-256 of a key, given as text or as `sha256:<hex>`. */
export function digestOfKey(key: string): Buffer {
  if (/^sha256:/i.test(key)) return Buffer.from(key.slice('sha256:'.length), 'hex');
  return hash('sha256', key, 'buffer');
}

/** Bytes of a key of SEAL_KEYS. */
export const SEAL_KEY_BYTES = 32;

/** The bytes of a key of SEAL_KEYS; undefined if it is not the base64 of 32 bytes. */
export function readSealKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, 'base64');
  // Buffer skips what is not base64.
  return key.byteLength === SEAL_KEY_BYTES && key.toString('base64') === text ? key : undefined;
}

/** What SEAL_KEYS should be instead, or undefined. Keys are never quoted. */
export function faultOfSealKeys(keys: readonly string[]): string | undefined {
  const position = keys.findIndex((key) => readSealKey(key) === undefined);
  if (position < 0) return undefined;
  return `entry ${position + 1} is not the base64 of ${SEAL_KEY_BYTES} bytes, such as "$(openssl rand -base64 ${SEAL_KEY_BYTES})".`;
}
