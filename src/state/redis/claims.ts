import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { Claims } from '../claims.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { NUMBERS, run, Script } from './script.js';
import { GRACE_MS } from './scripts/indexes.js';

/**
 * Takes a name that is free. Repeated, it does the same.
 *
 * KEYS: 1 the claim: when it ends, ms since the epoch, and its owner, as JSON. ARGV: 1 owner, 2 when the claim ends, 3 now. Returns the
 * owner.
 */
const CLAIM = new Script(`${NUMBERS}
local ends, owner = (redis.call('GET', KEYS[1]) or '0 '):match('^(%d+) (.*)$')
if tonumber(ends) > tonumber(ARGV[3]) then return owner end
local ms = ARGV[2] - ARGV[3]
if ms > 0 then redis.call('SET', KEYS[1], ARGV[2] .. ' ' .. ARGV[1], 'PX', whole(ms + ${GRACE_MS})) end
return ARGV[1]`);

/** Frees a name of an owner. Repeated, it does nothing. KEYS: as for the claim. ARGV: 1 owner. */
const RELEASE = new Script(`local owner = (redis.call('GET', KEYS[1]) or ''):match('^%d+ (.*)$')
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

  override async release(tenant: Tenant, name: string, owner: string): Promise<void> {
    await this.redis.write(run(RELEASE, [this.keys.claim(tenant, name)], JSON.stringify(owner)));
  }
}
