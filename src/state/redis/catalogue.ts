import type { Tenant } from '../../access/index.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import type { Command } from './script.js';

/** A response that continues no other one that is stored. */
export interface Root {
  /** Its key. */
  readonly key: string;
  /** Unix seconds. */
  readonly createdAt: number;
}

/** What a tenant has: the keys of its conversations, and the beginnings of its chains, oldest first. */
export interface Catalogue {
  readonly conversations: string[];
  readonly roots: Root[];
}

/**
 * What all tenants have, or one of them: as all keys say, not the indexes. Some 200 bytes for each chain and conversation, a small
 * part of what Redis has in memory for them. Throws StoreUnavailableError.
 */
export async function takeStock(redis: Redis, keys: RedisKeys, only?: Tenant): Promise<ReadonlyMap<Tenant, Catalogue>> {
  const all = new Map<Tenant, Catalogue>();
  // A scan may give a key twice.
  const seen = new Set<string>();
  const of = (tenant: Tenant): Catalogue => {
    const catalogue = all.get(tenant) ?? { conversations: [], roots: [] };
    all.set(tenant, catalogue);
    return catalogue;
  };
  const isWanted = (tenant: Tenant, key: string): boolean => {
    const isNew = (only === undefined || tenant === only) && !seen.has(key);
    if (isNew) seen.add(key);
    return isNew;
  };
  for await (const names of redis.scan(keys.anyConversation, 'hash')) {
    const replies = await redis.read(...names.map((key): Command => ['HGET', key, 'name']));
    for (const [index, key] of names.entries()) {
      const name = replies[index];
      if (typeof name !== 'string') continue;
      const [tenant] = JSON.parse(name) as [Tenant];
      if (isWanted(tenant, key)) of(tenant).conversations.push(key);
    }
  }
  for await (const names of redis.scan(keys.anyResponse, 'hash')) {
    for (const { tenant, ...root } of await rootsAmong(redis, names)) {
      if (isWanted(tenant, root.key)) of(tenant).roots.push(root);
    }
  }
  for (const { roots } of all.values()) roots.sort((one, other) => one.createdAt - other.createdAt);
  return all;
}

/** Those of some responses that continue none, or one that is gone. */
async function rootsAmong(
  redis: Redis,
  names: readonly string[],
): Promise<readonly (Root & { readonly tenant: Tenant })[]> {
  const known = await redis.read(...names.map((key): Command => ['HMGET', key, 'tenant', 'created', 'parent']));
  const responses = names.flatMap((key, index) => {
    const [tenant, created, parent] = known[index] as readonly (string | null)[];
    if (tenant == null || created == null) return [];
    const beginning = key.slice(0, key.indexOf('}:r:') + '}:r:'.length);
    const parentKey = parent == null ? null : beginning + parent;
    return [{ tenant: JSON.parse(tenant) as Tenant, key, createdAt: Number(created), parentKey }];
  });
  const parents = responses.flatMap(({ parentKey }) => parentKey ?? []);
  const existing = await redis.read(...parents.map((key): Command => ['EXISTS', key]));
  const stored = new Set(parents.filter((_, index) => existing[index] === 1));
  return responses.filter(({ parentKey }) => parentKey === null || !stored.has(parentKey));
}
