import { randomUUID } from 'node:crypto';

import { Logger } from '@nestjs/common';

import { Environment } from '../../src/config/index.js';
import type { RedisSettings } from '../../src/state/redis/connection-options.js';
import { RedisBackend } from '../../src/state/redis/index.js';
import { FakeClock } from '../../src/testing/index.js';
import type { Clock } from '../../src/time/index.js';
import { removeKeys } from '../support/redis/remove-keys.js';
import type { OpenedBackend } from './backends.js';

/** A started backend over keys of its own. */
export interface OpenedRedis extends OpenedBackend {
  readonly backend: RedisBackend;
  /** Starts another replica over the same keys. */
  replica(overrides?: Partial<RedisSettings>, clock?: Clock): Promise<RedisBackend>;
}

/** Starts a backend with a prefix of its own, on the server of the test run or on another one. */
export async function openRedis(url = process.env['TEST_REDIS_URL']): Promise<OpenedRedis> {
  Logger.overrideLogger(false);
  const settings = { REDIS_URL: url, REDIS_PREFIX: `test-${randomUUID()}` };
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
    await remove('');
  };
  const backend = await replica();
  return {
    backend,
    clock,
    replica,
    saveMany: async (tenant, records) => {
      await Promise.all(records.map((record) => backend.responses.save(tenant, record)));
    },
    content: async () => Number.NaN,
    // By the clock of Redis, which nobody can move.
    expireLeases: () => remove(':lease'),
    enqueue: async () => undefined,
    untilHeld: async () => undefined,
    ageJobs: async () => undefined,
    close,
    [Symbol.asyncDispose]: close,
  };
}
