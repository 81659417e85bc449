import { readFile } from 'node:fs/promises';

import { EnvironmentError, faultsOf, objectSchema, parseSecretFile, requireSchema } from '../config/index.js';
import { asTenant, type Grant, JWT_KEY_ID, SCOPES } from './grant.js';

/** A digest of a key, and until when it is accepted, milliseconds since the epoch. */
interface KnownSecret {
  /** SHA-256, 64 lower-case hex digits. */
  readonly digest: string;
  readonly expiresAt: number;
}

/** An entry of KEYS_FILE: a credential with one or two live keys. */
export interface KeyEntry {
  readonly grant: Grant;
  readonly secrets: readonly KnownSecret[];
}

/** An entry as it is written. */
export interface WrittenKey {
  readonly id: string;
  readonly tenant: string;
  readonly secrets: readonly { readonly sha256: string; readonly expires?: string }[];
  readonly scopes?: Grant['scopes'];
  readonly models?: readonly string[];
  readonly expires?: string;
}

/** The file as it is written. */
interface KeysFile {
  readonly keys: readonly WrittenKey[];
}

/** A key and its successor: more would hide that one was never withdrawn. */
const MOST_SECRETS = 2;

/** What ids and tenants are. */
export const KEY_NAME = '1 to 128 visible characters of ASCII';

const NAME_PATTERN = String.raw`^[\x21-\x7e]{1,128}$`;

/** Whether a text may be the id of a key, or its tenant: `KEY_NAME`. */
export function isKeyName(text: string): boolean {
  return new RegExp(NAME_PATTERN).test(text);
}

const NAME = { type: 'string', pattern: NAME_PATTERN, description: `must be ${KEY_NAME}` };
const TIME = { type: 'string' };

const SECRET = objectSchema({ sha256: { type: 'string' }, expires: TIME }, { required: ['sha256'] });

const KEY = objectSchema(
  {
    id: NAME,
    tenant: NAME,
    secrets: { type: 'array', minItems: 1, maxItems: MOST_SECRETS, items: SECRET },
    scopes: { type: 'array', items: { enum: SCOPES } },
    models: { type: 'array', items: { type: 'string', minLength: 1 } },
    expires: TIME,
  },
  { required: ['id', 'tenant', 'secrets'] },
);

const SCHEMA = objectSchema({ keys: { type: 'array', items: KEY } }, { required: ['keys'] });

/**
 * Reads and validates KEYS_FILE. Throws EnvironmentError, which names the place of the fault but never quotes what may be a key.
 */
export async function readKeysFile(path: string): Promise<readonly KeyEntry[]> {
  try {
    return await parseKeys(path, await readFile(path, 'utf8'));
  } catch (error) {
    throw faultOfKeysFile(path, error);
  }
}

/** What is wrong with KEYS_FILE, for the operator. */
export function faultOfKeysFile(path: string, error: unknown): EnvironmentError {
  return new EnvironmentError(faultsOf(error).map((fault) => `KEYS_FILE: ${path}: ${fault}.`));
}

/** The entries of a file with this content. Throws an Error that names the place of the fault but never quotes what may be a key. */
export async function parseKeys(path: string, content: string): Promise<readonly KeyEntry[]> {
  const value = await parseSecretFile(path, content);
  const { keys } = requireSchema<KeysFile>(value ?? {}, SCHEMA, { isSecret: true });
  return toEntries(keys);
}

function toEntries(keys: KeysFile['keys']): readonly KeyEntry[] {
  const names = new Set<string>();
  const digests = new Set<string>();
  return keys.map(({ id, tenant, secrets, scopes, models, expires }, index) => {
    const place = `keys[${index}]`;
    if (id.startsWith(JWT_KEY_ID)) throw new Error(`${place}.id begins with '${JWT_KEY_ID}', as the ids of JWTs do`);
    if (names.has(id)) throw new Error(`${place}.id is a duplicate`);
    names.add(id);
    const expiresAt = toTime(expires, `${place}.expires`);
    const known = secrets.map(({ sha256, expires: own }, number): KnownSecret => {
      const at = `${place}.secrets[${number}]`;
      const digest = sha256.toLowerCase();
      if (!/^[0-9a-f]{64}$/.test(digest)) {
        throw new Error(`${at}.sha256 must be the SHA-256 of the key as 64 hex digits, not the key itself`);
      }
      if (digests.has(digest)) throw new Error(`${at}.sha256 is a duplicate`);
      digests.add(digest);
      return { digest, expiresAt: Math.min(toTime(own, `${at}.expires`), expiresAt) };
    });
    return {
      secrets: known,
      grant: {
        tenant: asTenant(tenant),
        keyId: id,
        ...(scopes === undefined ? {} : { scopes }),
        ...(models === undefined ? {} : { models }),
      },
    };
  });
}

/** Milliseconds since the epoch; infinite without an end. */
function toTime(text: string | undefined, place: string): number {
  if (text === undefined) return Infinity;
  const time = /^\d{4}-\d{2}-\d{2}(?:T.+(?:Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) throw new Error(`${place} must be a time such as 2027-01-31T00:00:00Z`);
  return time;
}
