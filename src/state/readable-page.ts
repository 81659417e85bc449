import { RecentMap } from '../recent-map.js';
import { DamagedRecordError } from './errors.js';
import type { Page, PageRequest } from './page.js';

/** How many damaged records are remembered as told. */
const MOST_TOLD = 10_000;

const told = new RecentMap<true>(MOST_TOLD);

/** Where damage is logged. The logger is given, not imported: SQLite's thread runs this file too, and would start half as fast with Nest. */
let warn = (message: string): void => process.emitWarning(message);

/** Logs damage that was found in this process, or in a thread of it. */
export function logDamage(message: string): void {
  warn(message);
}

/** Has damage logged by `logger` from now on, in place of Node's warnings. */
export function logDamageWith(logger: { warn(message: string): void }): void {
  warn = (message) => logger.warn(message);
}

/** What is read as `read` does; undefined for a damaged record, which is left out and logged once per process. `effect`: as of `tellDamage`. */
export function readable<T>(tenant: string, read: () => T, effect?: string): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DamagedRecordError)) throw error;
    tellDamage(tenant, error, effect);
    return undefined;
  }
}

/** Logs that a record of a tenant is damaged, once per process. `effect`: what comes of it, by default that lists leave it out. */
export function tellDamage(tenant: string, { record, message }: DamagedRecordError, effect?: string): void {
  const key = JSON.stringify([tenant, record]);
  if (!told.has(key)) {
    const remedy = record.startsWith('/') ? `DELETE ${record} removes it` : 'restore it from a backup';
    warn(`${message}. ${effect ?? `Tenant '${tenant}' cannot read it, and lists leave it out: ${remedy}`}`);
  }
  told.set(key, true);
}

/**
 * The page of a list without its damaged records. Where a page has nothing else but more follows, the next one is read: clients take an
 * empty page for the end. The id of a row is a cursor, also where its record cannot be read. Throws what `ask` throws.
 */
export async function readablePage<
  Row extends { readonly id: string },
  T,
  Found extends Page<Row> | undefined,
  Asked extends PageRequest,
>(
  tenant: string,
  page: Asked,
  ask: (page: Asked) => Promise<Found>,
  read: (row: Row) => T,
): Promise<Page<T> | Extract<Found, undefined>> {
  for (let asked = page; ;) {
    const found = await ask(asked);
    if (found === undefined) return found as Extract<Found, undefined>;
    if (page.damaged === 'refuse') return { data: found.data.map(read), hasMore: found.hasMore };
    const data = found.data.flatMap((row) => readable(tenant, () => [read(row)]) ?? []);
    // The last row that was read: a page that ends before a cursor was turned round.
    const last = asked.before === undefined ? found.data.at(-1) : found.data[0];
    if (data.length > 0 || !found.hasMore || last === undefined) return { data, hasMore: found.hasMore };
    asked = { ...asked, isKey: true, [asked.before === undefined ? 'after' : 'before']: last.id };
  }
}
