import type { Tenant } from '../../access/index.js';
import { NEVER } from '../background-runs.js';
import type { Insertion } from './insertion.js';
import { type Located, type RedisKeys, toMember } from './keys.js';
import { type Command, run } from './script.js';
import { ENTER, GRACE_MS, LONGEST_MS, UNFINISHED_MS } from './scripts/indexes.js';

/** The number of indexes of what expires. */
export const SHARDS = 16;

/** What indexes know of a response. */
export type Indexed = Pick<Insertion, 'id' | 'sessions' | 'createdAt' | 'expiresAt' | 'slack'>;

/**
 * The commands of a save besides the one that stores the response in its slot: how it is found. Items have
 * their own, see `HeldItems`.
 */
export function indexCommands(
  keys: RedisKeys,
  tenant: Tenant,
  slot: string,
  insertion: Indexed,
  now: number,
): readonly Command[] {
  const { id, sessions, createdAt, expiresAt } = insertion;
  const ttl = listedFor(insertion, now);
  return [
    ['SET', keys.slotOf(tenant, id), JSON.stringify(slot), 'PX', usefulFor(insertion, now)],
    // A deleted response is moved only for those that continue it: the list of the tenant does not have it.
    ...(expiresAt === 0 ? [] : [run(ENTER, [keys.responsesOf(tenant)], ttl, createdAt, id)]),
    ...sessions
      .filter((session) => session !== slot)
      .map((session) => run(ENTER, [keys.slot(tenant, session).members], ttl, createdAt, id)),
    ...(expiresAt >= NEVER ? [] : [expiryCommand(keys, { tenant, slot, responseKey: id }, expiresAt, ttl)]),
  ];
}

/** The commands that renew what finds a stored response, for as long as it is of use now: also the list of its own slot. */
export function renewalCommands(
  keys: RedisKeys,
  tenant: Tenant,
  slot: string,
  indexed: Indexed,
  now: number,
): readonly Command[] {
  const { id, sessions, createdAt } = indexed;
  const own = run(ENTER, [keys.slot(tenant, slot).members], listedFor(indexed, now), createdAt, id);
  return [...indexCommands(keys, tenant, slot, indexed, now), ...(sessions.includes(slot) ? [own] : [])];
}

/** The command that has the purge look at a response when it expires. */
export function expiryCommand(keys: RedisKeys, response: Located, expiresAt: number, ttl: number): Command {
  return run(ENTER, [shardOf(keys, response)], ttl, expiresAt, toMember(response));
}

/** The command that has the purge look at it no more. */
export function unexpiringCommand(keys: RedisKeys, response: Located): Command {
  return ['ZREM', shardOf(keys, response), toMember(response)];
}

/** How long what names a response is of use, ms. */
function usefulFor({ expiresAt, slack }: Pick<Insertion, 'expiresAt' | 'slack'>, now: number): number {
  const lifetimeMs = expiresAt >= NEVER ? LONGEST_MS : expiresAt - now;
  return Math.max(0, lifetimeMs + slack) + GRACE_MS;
}

/**
 * How long its entries in shared lists are of use, ms: a list must not live for a year because of a response that ends
 * in a minute. Those of unfinished ones are renewed by the sweep of runs, and at their end.
 */
export function listedFor(response: Pick<Insertion, 'expiresAt' | 'slack'>, now: number): number {
  return response.expiresAt >= NEVER ? UNFINISHED_MS : usefulFor(response, now);
}

/** By the response, so that what expires of one slot is spread. */
function shardOf(keys: RedisKeys, { responseKey }: Located): string {
  let hash = 0;
  for (let index = 0; index < responseKey.length; index += 1) hash = (hash * 31 + responseKey.charCodeAt(index)) | 0;
  return keys.expiring((hash >>> 0) % SHARDS);
}
