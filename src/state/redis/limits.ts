import {
  type Change,
  type Counted,
  type Holder,
  type LookedAt,
  SharedLimits,
  type Standing,
  type Take,
} from '../shared-limits.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { type Command, run } from './script.js';
import { READ_LIMITS, RENEW_LIMITS, SETTLE_LIMITS, TAKE_LIMITS } from './scripts/limits.js';

/**
 * Counters of limits in Redis, for all replicas. A command that is repeated because its connection broke may count twice. All go to the
 * primaries with `read`, also those that write: nobody waits for replicas of Redis to confirm a count.
 */
export class RedisLimits extends SharedLimits {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
  ) {
    super();
  }

  override async take(take: Take, { replica, leaseMs }: Holder): Promise<Counted> {
    const { key, requests, requestLimit, tokens, tokenLimit, places, placeLimit } = take;
    const args = [requests, requestLimit, tokens, tokenLimit, places, placeLimit, replica, leaseMs];
    const [reply] = await this.redis.read(run(TAKE_LIMITS, [this.keys.limit(key)], ...args));
    const [admitted, ofRequests = 0, ofTokens = 0, open = 0, resetMs = 0] = reply as readonly number[];
    return { admitted: admitted === 1, requests: ofRequests, tokens: ofTokens, places: open, resetMs };
  }

  override async read(counters: readonly LookedAt[]): Promise<readonly Standing[]> {
    const toCommand = ({ key, tokenLimit }: LookedAt): Command => run(READ_LIMITS, [this.keys.limit(key)], tokenLimit);
    const replies = (await this.redis.read(...counters.map(toCommand))) as readonly (readonly number[])[];
    return replies.map(([requests = 0, tokens = 0, places = 0, resetMs = 0]) => ({
      requests,
      tokens,
      places,
      resetMs,
    }));
  }

  override async settle(changes: ReadonlyMap<string, Change>, { replica, leaseMs }: Holder): Promise<void> {
    const toCommand = ([key, change]: readonly [string, Change]): Command => {
      const { tokens, tokenLimit, places } = change;
      return run(SETTLE_LIMITS, [this.keys.limit(key)], tokens, tokenLimit, places, replica, leaseMs);
    };
    await this.redis.read(...Array.from(changes, toCommand));
  }

  override async renew(keys: readonly string[], { replica, leaseMs }: Holder): Promise<ReadonlyMap<string, number>> {
    const commands = keys.map((key) => run(RENEW_LIMITS, [this.keys.limit(key)], replica, leaseMs));
    const replies = (await this.redis.read(...commands)) as readonly number[];
    return new Map(keys.map((key, index) => [key, replies[index] ?? 0]));
  }
}
