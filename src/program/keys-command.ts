import { createKey, revokeKey } from '../access/change-keys.js';
import { type Scope, SCOPES } from '../access/grant.js';
import { isKeyName, KEY_NAME, type KeyEntry, readKeysFile } from '../access/keys-file.js';
import type { KeysCommand } from './command-line/index.js';
import { EnvironmentError, unsetOf } from '../config/index.js';
import { endWithReader, escapeLine, surviveErrors } from '../logging/index.js';

const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/**
 * `antiphon keys`: changes or lists KEYS_FILE, which running services read again by themselves. The standard output has a new key, or the list;
 * the rest is told on stderr. Throws EnvironmentError.
 */
export async function runKeysCommand(command: KeysCommand): Promise<void> {
  const file = command.file ?? keysFile();
  if (command.verb === 'list') {
    endWithReader();
    process.stdout.write(toTable(await readKeysFile(file), Date.now()));
    return;
  }
  const { id } = command;
  if (command.verb === 'revoke') {
    await revokeKey(file, id);
    process.stderr.write(`Revoked '${escapeLine(id)}' in ${file}. Running services read it within two seconds.\n`);
    return;
  }
  const { tenant, scopes, models, expires } = command;
  requireName('keys create', id);
  requireName('--tenant', tenant);
  const entry = {
    ...{ id, tenant },
    ...(scopes === undefined ? {} : { scopes: scopes.map(toScope) }),
    ...(models === undefined ? {} : { models }),
    ...(expires === undefined ? {} : { expires: toTime(expires, Date.now()) }),
  };
  await createKey(file, entry, show);
  process.stderr.write(
    `This key of tenant '${tenant}' is shown only now: ${file} has its digest. Running services read it within two seconds.\n`,
  );
}

/** Writes a key to the standard output. Rejects when nobody can read it there. */
function show(key: string): Promise<void> {
  surviveErrors('stdout');
  return new Promise((resolve, reject) => {
    process.stdout.write(`${key}\n`, (error) => {
      if (error) reject(new Error(`the key was not made, as it cannot be shown: ${error.message}`, { cause: error }));
      else resolve();
    });
  });
}

function keysFile(): string {
  // Loads `.env`. No other variable matters here, so none is checked.
  const isUnset = Object.hasOwn(unsetOf({ KEYS_FILE: '' }), 'KEYS_FILE');
  if (isUnset)
    throw new EnvironmentError(['KEYS_FILE: is not set. Set it as for the service, or name the file with --file.']);
  return process.env.KEYS_FILE ?? '';
}

function requireName(argument: string, name: string): void {
  if (isKeyName(name)) return;
  throw new EnvironmentError([`${argument}: expected ${KEY_NAME}, but got '${escapeLine(name)}'.`]);
}

function toScope(word: string): Scope {
  const scope = SCOPES.find((each) => each === word);
  if (scope !== undefined) return scope;
  throw new EnvironmentError([`--scopes: expected some of ${SCOPES.join(', ')}, but got '${escapeLine(word)}'.`]);
}

/** A time that is to come, as the file has it: a time as it was given, or the end of a period such as `90d`. */
function toTime(text: string, now: number): string {
  const [, count = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const period = UNITS_MS.get(unit);
  const at = period === undefined ? Date.parse(text) : now + Number(count) * period;
  if (at > now) return period === undefined ? text : new Date(at).toISOString();
  const wrong = Number.isNaN(at) ? 'expected a time such as 2027-01-31T00:00:00Z or 90d' : 'expected a time to come';
  throw new EnvironmentError([`--expires: ${wrong}, but got '${escapeLine(text)}'.`]);
}

function toTable(entries: readonly KeyEntry[], now: number): string {
  const rows = entries.map(({ grant, secrets }) => [
    grant.keyId ?? '',
    grant.tenant,
    grant.scopes?.join(',') ?? 'all but admin',
    grant.models?.map(escapeLine).join(',') ?? 'all',
    describeEnd(Math.max(...secrets.map(({ expiresAt }) => expiresAt)), now),
    secrets.map(({ digest }) => `${digest.slice(0, 8)}…`).join(' '),
  ]);
  const table = [['ID', 'TENANT', 'SCOPES', 'MODELS', 'EXPIRES', 'SHA-256'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  const toLine = (row: readonly string[]): string =>
    `${row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()}\n`;
  return table.map(toLine).join('');
}

function describeEnd(at: number, now: number): string {
  if (at === Infinity) return 'never';
  return `${new Date(at).toISOString()}${at <= now ? ' (over)' : ''}`;
}
