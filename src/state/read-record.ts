import type { Tenant } from '../access/index.js';
import { isObject } from '../json.js';
import { DamagedRecordError } from './errors.js';

/**
 * Parses what is stored of a record: an object that has a text under `member`, where one is named. Further members are not checked, as this is
 * done for each turn. `record` names it in the error (`DamagedRecordError.record`). Throws DamagedRecordError.
 */
export function readRecord<T extends object>(text: string, record: string, member?: keyof T & string): T {
  const value = parseStored(text, record);
  if (!isObject(value)) throw new DamagedRecordError(record, 'an object was expected');
  if (member !== undefined && typeof value[member] !== 'string') {
    throw new DamagedRecordError(record, `its member '${member}' is missing`);
  }
  return value as T;
}

/** Parses stored JSON. Throws DamagedRecordError. */
export function parseStored(text: string, record: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DamagedRecordError(record, reasonOfDamage(error));
  }
}

/** Why something that is stored cannot be read, for the log. V8 quotes a text that is not JSON, and the log has no content (SECURITY.md). */
export function reasonOfDamage(error: unknown): string {
  return error instanceof SyntaxError ? 'its text is not JSON' : String(error);
}

/** Parses the name of a tenant. Throws DamagedRecordError. */
export function readTenant(text: string, record: string): Tenant {
  const name = parseStored(text, record);
  if (typeof name !== 'string') throw new DamagedRecordError(record, 'the name of a tenant was expected');
  return name as Tenant;
}
