import { randomUUID } from 'node:crypto';

import { Logger } from '@nestjs/common';

import { Environment } from '../../src/config/index.js';
import type { RedisSettings } from '../../src/state/redis/connection-options.js';
import { RedisBackend } from '../../src/state/redis/index.js';
import { FakeClock } from '../../src/testing/index.js';
import type { Clock } from '../../src/time/index.js';
import { CLUSTER_URL } from '../support/redis/describe-redis.js';
import { findKeys, removeKeys } from '../support/redis/remove-keys.js';
import { STATE_PATIENCE_MS } from '../support/state-backends.js';
import { identify } from '../../src/state/redis/jobs.js';
import type { Redis } from '../../src/state/redis/redis.js';
import type { OpenedBackend } from './backends.js';
import { RedisJobs } from './redis-jobs.js';

/** A started backend over keys of its own. */
export interface OpenedRedis extends OpenedBackend {
  readonly backend: RedisBackend;
  /** What all its keys begin with. */
  readonly prefix: string;
  /** Lets the windows of all limits end. */
  endWindows(): Promise<void>;
  /** Starts another replica over the same keys. */
  replica(overrides?: Partial<RedisSettings>, clock?: Clock): Promise<RedisBackend>;
  /** Takes all jobs away from the processes that hold them, as if these had died long ago. */
  loseWorkers(): Promise<void>;
}

/** More than the intervals at which a worker looks for jobs and shows that it is alive, ms. */
const SHORT_MS = 6000;

/** Responses that are saved at once. */
const MANY = 500;

/** Starts a backend with a prefix of its own, on the server of the test run or on another one. */
export async function openRedis(url = process.env['TEST_REDIS_URL']): Promise<OpenedRedis> {
  Logger.overrideLogger(false);
  const patience = { REDIS_COMMAND_TIMEOUT_MS: STATE_PATIENCE_MS };
  const isShared = url === process.env['TEST_REDIS_URL'] || url === CLUSTER_URL;
  const settings = { REDIS_URL: url, REDIS_PREFIX: `test-${randomUUID()}`, ...patience };
  const clock = new FakeClock();
  const backends: RedisBackend[] = [];
  const replica = async (overrides: Partial<RedisSettings> = {}, time: Clock = clock): Promise<RedisBackend> => {
    const backend = new RedisBackend(Object.assign(new Environment(), settings, overrides), time);
    await backend.start();
    backends.push(backend);
    return backend;
  };
  const remove = (suffix: string): Promise<void> => removeKeys(url, `${settings.REDIS_PREFIX}:*${suffix}`);
  const close = async (): Promise<void> => {
    await Promise.all(backends.map((backend) => backend.stop()));
    // Servers of a test's own end with it, and may have crashed.
    if (isShared) await remove('');
  };
  const backend = await replica();
  const jobs = new RedisJobs(redisOf(backend), `${settings.REDIS_PREFIX}:{jobs}`);
  return {
    backend,
    prefix: settings.REDIS_PREFIX,
    clock,
    replica,
    saveMany: async (tenant, records) => {
      for (let start = 0; start < records.length; start += MANY) {
        await Promise.all(records.slice(start, start + MANY).map((record) => backend.responses.save(tenant, record)));
      }
    },
    content: async () => {
      const keys = await findKeys(url, `${settings.REDIS_PREFIX}:*`);
      return keys.filter((key) => /\}:(r:|items|conversation)/.test(key)).length;
    },
    // By the clock of Redis, which nobody can move.
    expireLeases: () => remove(':lease'),
    endWindows: async () => {
      const names = await findKeys(url, `${settings.REDIS_PREFIX}:limits:*`);
      if (names.length > 0) {
        await redisOf(backend).write(...names.map((name) => ['HSET', name, 'ends', Date.now()] as const));
      }
    },
    enqueue: (...jobs) => backend.jobs.add(identify(jobs)),
    untilHeld: (count) => jobs.untilHeld(count),
    ageJobs: async (seconds) => {
      await jobs.age(seconds);
      clock.advance(seconds * 1000 + SHORT_MS);
    },
    loseWorkers: async () => {
      await jobs.loseLocks();
      clock.advance(SHORT_MS);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The private part that only a test wants. */
export function redisOf(backend: RedisBackend): Redis {
  return (backend as unknown as { readonly redis: Redis }).redis;
}
