import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { type Claim, Claims } from '../claims.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { type Command, NUMBERS, run, LuaScript } from './script.js';
import { GRACE_MS } from './scripts/indexes.js';

/**
 * Takes a name that is free. Repeated, it does the same.
 *
 * KEYS: 1 the claim: when it ends, ms since the epoch, and its owner, as JSON. ARGV: 1 owner, 2 when the claim ends, 3 now. Returns the
 * owner.
 */
const CLAIM = new LuaScript(`${NUMBERS}
local ends, owner = (redis.call('GET', KEYS[1]) or '0 '):match('^(%d+) (.*)$')
if tonumber(ends) > tonumber(ARGV[3]) then return owner end
local ms = ARGV[2] - ARGV[3]
if ms > 0 then redis.call('SET', KEYS[1], ARGV[2] .. ' ' .. ARGV[1], 'PX', whole(ms + ${GRACE_MS})) end
return ARGV[1]`);

/** Frees a name of an owner. Repeated, it does nothing. KEYS: as for the claim. ARGV: 1 owner. */
const RELEASE = new LuaScript(`local owner = (redis.call('GET', KEYS[1]) or ''):match('^%d+ (.*)$')
if owner == ARGV[1] then redis.call('DEL', KEYS[1]) end`);

/** Claims in Redis, for all replicas. They expire by themselves. */
export class RedisClaims extends Claims {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async claim(tenant: Tenant, name: string, owner: string, expiresAt: number): Promise<string> {
    const args = [JSON.stringify(owner), expiresAt, this.clock.now()];
    const [holder] = await this.redis.write(run(CLAIM, [this.keys.claim(tenant, name)], ...args));
    return JSON.parse(String(holder)) as string;
  }

  override async held(tenant: Tenant, names: readonly string[]): Promise<readonly Claim[]> {
    if (names.length === 0) return [];
    const replies = await this.redis.read(...names.map((name): Command => ['GET', this.keys.claim(tenant, name)]));
    return names.flatMap((name, index) => {
      const { ends, owner } = /^(?<ends>\d+) (?<owner>.*)$/s.exec(textOf(replies[index]))?.groups ?? {};
      if (owner === undefined || Number(ends) <= this.clock.now()) return [];
      return [{ name, owner: JSON.parse(owner) as string, expiresAt: Number(ends) }];
    });
  }

  override async release(tenant: Tenant, name: string, owner: string): Promise<void> {
    await this.redis.write(run(RELEASE, [this.keys.claim(tenant, name)], JSON.stringify(owner)));
  }
}

function textOf(reply: unknown): string {
  return typeof reply === 'string' ? reply : '';
}
