import { run, LuaScript } from '../../src/state/redis/script.js';
import type { Redis } from '../../src/state/redis/redis.js';

const QUEUES = ['turns', 'webhooks'] as const;

/** The scores of delayed jobs are milliseconds times this. */
const SCORE_UNIT = 0x1000;

/** KEYS: delayed jobs. ARGV: by how much they are moved back. */
const AGE = new LuaScript(`for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    redis.call('ZINCRBY', KEYS[1], -tonumber(ARGV[1]), id)
  end`);

/** KEYS: active jobs, jobs that may be stalled, the mark of the last check. ARGV: the prefix of locks. */
const LOSE_LOCKS = new LuaScript(`for _, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    redis.call('DEL', ARGV[1] .. id .. ':lock')
    redis.call('SADD', KEYS[2], id)
  end
  redis.call('DEL', KEYS[3])`);

/** The keys of the job queue, which its own clock rules. */
export class RedisJobs {
  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
  ) {}

  /** Resolves when exactly so many jobs are held by a worker. */
  async untilHeld(count: number): Promise<void> {
    for (;;) {
      const held = await this.redis.read(...QUEUES.map((queue) => ['LLEN', this.key(queue, 'active')] as const));
      if (held.reduce<number>((sum, length) => sum + Number(length), 0) === count) return;
    }
  }

  /** Moves the times of delayed jobs back. */
  async age(seconds: number): Promise<void> {
    // What the workers have to send is sent before.
    await this.redis.read(['EXISTS', this.key('turns', 'delayed')]);
    const units = seconds * 1000 * SCORE_UNIT;
    await this.redis.write(...QUEUES.map((queue) => run(AGE, [this.key(queue, 'delayed')], units)));
  }

  /** Takes the locks from all delivered jobs. */
  async loseLocks(): Promise<void> {
    const keysOf = (queue: string): readonly string[] =>
      ['active', 'stalled', 'stalled-check'].map((name) => this.key(queue, name));
    await this.redis.write(...QUEUES.map((queue) => run(LOSE_LOCKS, keysOf(queue), this.key(queue, ''))));
  }

  private key(queue: string, name: string): string {
    return `${this.prefix}:${queue}:${name}`;
  }
}
