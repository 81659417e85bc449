import { type Counted, LIMIT_WINDOW_MS, SharedLimits, sumOfStated, type Take } from '../shared-limits.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { run } from './script.js';
import { COUNT_LIMITS, EXCHANGE_LIMITS, SETTLE_LIMITS } from './scripts/limits.js';

/** Counters of limits in Redis, for all replicas. A command that is repeated because its connection broke may count twice. */
export class RedisLimits extends SharedLimits {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
  ) {
    super();
  }

  override async count({ key, tokens, requestLimit, tokenLimit }: Take): Promise<Counted> {
    const command = run(COUNT_LIMITS, [this.keys.limit(key)], tokens, requestLimit, tokenLimit, LIMIT_WINDOW_MS);
    const [reply] = await this.send(command);
    const [admitted = 0, requests = 0, counted = 0, resetMs = 0] = reply as readonly number[];
    return { admitted: admitted === 1, requests, tokens: counted, resetMs };
  }

  override async settle(tokens: ReadonlyMap<string, number>): Promise<void> {
    const toCommand = ([key, change]: readonly [string, number]): ReturnType<typeof run> =>
      run(SETTLE_LIMITS, [this.keys.limit(key)], change, LIMIT_WINDOW_MS);
    await this.send(...Array.from(tokens, toCommand));
  }

  override async exchange(
    replica: string,
    open: ReadonlyMap<string, number>,
    ttlMs: number,
  ): Promise<ReadonlyMap<string, number>> {
    const stated = JSON.stringify(Object.fromEntries(open));
    const [others] = await this.send(run(EXCHANGE_LIMITS, [this.keys.limitReplicas], replica, stated, ttlMs));
    return sumOfStated(others as readonly string[]);
  }

  /** To the primaries; nobody waits for replicas of Redis to confirm a count. */
  private send(...commands: readonly ReturnType<typeof run>[]): Promise<readonly unknown[]> {
    return this.redis.read(...commands);
  }
}
