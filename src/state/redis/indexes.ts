import type { Tenant } from '../../access/index.js';
import { NEVER } from '../background-runs.js';
import { BOOKMARK_MS } from '../bookmark.js';
import type { Insertion } from './insertion.js';
import { ITEM_NAME_LENGTH, type Located, type RedisKeys, toMember } from './keys.js';
import { type Command, run } from './script.js';
import type { Freed } from './scripts/delete.js';
import { ENTER, GRACE_MS, LONGEST_MS, UNFINISHED_MS } from './scripts/indexes.js';

/** The number of indexes of what expires. */
export const SHARDS = 16;

/** The texts of a response that show items. */
export type ItemText = 'input' | 'output';

/** Where an item of a response is: a part of one of its texts, in bytes. */
export interface HeldItem {
  /** What says so in the index. */
  readonly entry: string;
  readonly responseKey: string;
  readonly text: ItemText;
  readonly offset: number;
  readonly length: number;
}

/** What indexes know of a response. */
export type Indexed = Pick<Insertion, 'id' | 'sessions' | 'createdAt' | 'expiresAt' | 'slack'>;

/**
 * The commands of a save besides the one that stores the response in the place of `lock`: how it is found. Items have
 * their own, see `HeldItems`.
 */
export function indexCommands(
  keys: RedisKeys,
  tenant: Tenant,
  lock: string,
  insertion: Indexed,
  now: number,
): readonly Command[] {
  const { id, sessions, createdAt, expiresAt } = insertion;
  const ttl = listedFor(insertion, now);
  const locator = keys.locator(tenant, id);
  return [
    ['SET', locator, JSON.stringify(lock), 'PX', usefulFor(insertion, now)],
    // One that was deleted is moved only for those that continue it.
    ...(expiresAt === 0 ? [] : [run(ENTER, [keys.responsesOf(tenant)], ttl, createdAt, id)]),
    ...sessions
      .filter((session) => session !== lock)
      .map((session) => run(ENTER, [keys.place(tenant, session).members], ttl, createdAt, id)),
    ...(expiresAt >= NEVER ? [] : [expiryCommand(keys, { tenant, lock, responseKey: id }, expiresAt, ttl)]),
  ];
}

/** The commands that renew what finds a stored response, for as long as it is of use now: also the list of its own place. */
export function renewalCommands(
  keys: RedisKeys,
  tenant: Tenant,
  lock: string,
  indexed: Indexed,
  now: number,
): readonly Command[] {
  const { id, sessions, createdAt } = indexed;
  const own = run(ENTER, [keys.place(tenant, lock).members], listedFor(indexed, now), createdAt, id);
  return [...indexCommands(keys, tenant, lock, indexed, now), ...(sessions.includes(lock) ? [own] : [])];
}

/** The command that has the purge look at a response when it expires. */
export function expiryCommand(keys: RedisKeys, response: Located, expiresAt: number, ttl: number): Command {
  return run(ENTER, [shardOf(keys, response)], ttl, expiresAt, toMember(response));
}

/** The command that has the purge look at it no more. */
export function unexpiringCommand(keys: RedisKeys, response: Located): Command {
  return ['ZREM', shardOf(keys, response), toMember(response)];
}

/** The commands that take responses of a tenant that are freed out of the indexes. They are found as long as bookmarks tell where they were. */
export function removalCommands(
  keys: RedisKeys,
  tenant: Tenant,
  lock: string,
  freed: readonly Freed[],
): readonly Command[] {
  return freed.flatMap(([responseKey, held]): readonly Command[] => [
    unexpiringCommand(keys, { tenant, lock, responseKey }),
    ['PEXPIRE', keys.locator(tenant, responseKey), BOOKMARK_MS + GRACE_MS],
    ...leaveItems(keys, responseKey, held),
  ]);
}

/** The commands that take the items of a response out of the index. `names`: as of `HeldItems.names`. */
function leaveItems(keys: RedisKeys, responseKey: string, names: string): readonly Command[] {
  return Array.from({ length: names.length / ITEM_NAME_LENGTH }, (_, index): Command => {
    const name = names.slice(index * ITEM_NAME_LENGTH, (index + 1) * ITEM_NAME_LENGTH);
    return ['ZREMRANGEBYLEX', keys.holdersOf(name), `[${responseKey}\0`, `(${responseKey}\u0001`];
  });
}

/** How long what names a response is of use, ms. */
export function usefulFor({ expiresAt, slack }: Pick<Insertion, 'expiresAt' | 'slack'>, now: number): number {
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

/** By the response, so that what expires of one place is spread. */
function shardOf(keys: RedisKeys, { responseKey }: Located): string {
  let hash = 0;
  for (let index = 0; index < responseKey.length; index += 1) hash = (hash * 31 + responseKey.charCodeAt(index)) | 0;
  return keys.expiring((hash >>> 0) % SHARDS);
}

/** An entry of the holders of an item: the response, NUL, which no key has, and where the item is. */
export function toHolder({ responseKey, text, offset, length }: Omit<HeldItem, 'entry'>): string {
  return `${responseKey}\0${text}:${offset}:${length}`;
}

/** Reads an entry of the holders of an item. */
export function readHolder(entry: string): HeldItem {
  const end = entry.indexOf('\0');
  const [text, offset, length] = entry.slice(end + 1).split(':');
  return {
    entry,
    responseKey: entry.slice(0, end),
    text: text as ItemText,
    offset: Number(offset),
    length: Number(length),
  };
}
