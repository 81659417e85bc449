import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { type Ending, RunLostError, type UnfinishedResponse } from '../../src/state/index.js';
import type { RedisBackend } from '../../src/state/redis/index.js';
import { newTenant } from '../../src/testing/state/records.js';
import { cancelledOf, deltas, endingOf, launch, readAll } from '../../src/testing/state/runs.js';
import { describeRedis } from '../support/redis/describe-redis.js';
import { findKeys } from '../support/redis/remove-keys.js';
import { Death } from './redis-death.js';
import { openRedis, type OpenedRedis, redisOf } from './redis-fixture.js';

describeRedis('a background response that another replica ends', () => {
  let opened: OpenedRedis;
  let running: RedisBackend;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await openRedis();
    running = opened.backend;
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  /** A replica that asks for a log, and whose run does something before it is asked for, or before the answer comes. */
  const replicaWhile = async (when: 'before' | 'after', act: () => void): Promise<RedisBackend> => {
    const replica = await opened.replica();
    const redis = redisOf(replica);
    const read = redis.read.bind(redis);
    const actNow = async (): Promise<void> => {
      act();
      // What was sent before it has come to Redis.
      await running.responses.get(tenant, 'a');
    };
    redis.read = async (...commands) => {
      const isLog = commands.some((command) => !('script' in command) && command[0] === 'XRANGE');
      if (isLog && when === 'before') await actNow();
      const replies = await read(...commands);
      if (isLog && when === 'after') await actNow();
      return replies;
    };
    return replica;
  };

  /** Lets time pass until a write of the run has ended, which looks from time to time whether it may write. */
  const outcomeOf = async (write: Promise<unknown>): Promise<unknown> => {
    let outcome: unknown;
    const settled = write.then(
      () => (outcome = 'written'),
      (error: unknown) => (outcome = error),
    );
    while (outcome === undefined) {
      opened.clock.advance(20);
      await running.responses.get(tenant, 'a');
    }
    return settled;
  };

  it('a background response that another replica ends is looked at once, however fast its run logs', async () => {
    const run = await launch(running, tenant, 'a');
    const appended: Promise<void>[] = [];
    const other = await replicaWhile('after', () => {
      const next = 3 + appended.length;
      if (next < 50) appended.push(running.log.append(run, deltas(next, 1)));
    });
    let looks = 0;
    const compose = ({ log: { events } }: UnfinishedResponse): Ending => {
      looks += 1;
      return cancelledOf('a', { at: events.length });
    };
    expect(await other.runs.conclude(tenant, 'a', compose, {})).toMatchObject({ status: 'cancelled' });
    expect(looks).toBe(1);
    expect(await outcomeOf(appended[0] ?? Promise.resolve())).toBeInstanceOf(RunLostError);
    expect((await readAll(other.log, run)).events).toHaveLength(4);
  });

  it('the end of a background response is not composed of what its run has ended meanwhile', async () => {
    const run = await launch(running, tenant, 'a');
    let finished: Promise<void> | undefined;
    const other = await replicaWhile('before', () => {
      finished ??= running.runs.finish(run, endingOf('a', { at: 3 }));
    });
    let composedOf: readonly string[] = [];
    const ended = await other.runs.conclude(
      tenant,
      'a',
      ({ log: { events } }) => {
        composedOf = events.map(({ type }) => type);
        return cancelledOf('a', { at: events.length });
      },
      {},
    );
    expect(composedOf).not.toContain('response.completed');
    expect(ended).toMatchObject({ status: 'cancelled' });
    expect(await outcomeOf(finished ?? Promise.resolve())).toBeInstanceOf(RunLostError);
  });

  it('a background response goes on when the replica dies that was to end it', async () => {
    const run = await launch(running, tenant, 'a');
    const dying = await opened.replica();
    const death = new Death(dying, 2);
    await death.during(dying.runs.conclude(tenant, 'a', () => cancelledOf('a', { at: 3 }), {}));
    expect(death.hasHappened).toBe(true);
    const redis = redisOf(running);
    const keys = await findKeys(process.env['TEST_REDIS_URL'], `${opened.prefix}:*:r:a`);
    const holds = await redis.read(...keys.map((key) => ['HGET', key, 'hold'] as const));
    expect(holds.filter((hold) => hold !== null)).toHaveLength(1);
    // By the clock of Redis, which nobody can move.
    await redis.write(
      ...keys.flatMap((key, index) => (holds[index] == null ? [] : [['HSET', key, 'hold', 'dead 1'] as const])),
    );
    await running.log.append(run, deltas(3, 1));
    await running.runs.finish(run, endingOf('a', { at: 4 }));
    expect(await running.responses.get(tenant, 'a')).toMatchObject({ status: 'completed' });
  });
});
