import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';

import { describeRedis } from '../support/redis/describe-redis.js';
import { openRedis, type OpenedRedis, redisOf } from './redis-fixture.js';
import { RedisJobs } from './redis-jobs.js';

const OPTIONS = {
  concurrency: 4,
  leaseSeconds: 60,
  maxRunSeconds: 600,
  retryDelaySeconds: 1,
  longestRetryDelaySeconds: 8,
  maxAttempts: 5,
};

describeRedis('a damaged job in Redis', () => {
  let opened: OpenedRedis;
  const logged: string[] = [];

  beforeEach(async () => {
    opened = await openRedis();
    logged.length = 0;
    const keep = (message: unknown): void => void logged.push(String(message));
    Logger.overrideLogger({ log: keep, error: keep, warn: keep });
  });
  afterEach(async () => {
    Logger.overrideLogger(false);
    await opened.close();
  });

  it.each(['{"data":', 'null', '[]', '{"data":null,"after":0}', '{"data":{}}'])(
    'a damaged job, stored as %s, is ended and logged, and the jobs around it are delivered',
    async (text) => {
      const { backend, prefix } = opened;
      await backend.jobs.add(['first', 'damaged', 'last'].map((id) => ({ queue: 'turns', id, data: { id } })));
      await redisOf(backend).write(['HSET', `${prefix}:{jobs}:turns:damaged`, 'data', text]);
      const delivered: unknown[] = [];
      const all = Promise.withResolvers<undefined>();
      await backend.jobs.work('turns', OPTIONS, async ({ data }) => {
        if (delivered.push(data) === 2) all.resolve(undefined);
      });
      await all.promise;
      expect(delivered).toEqual([{ id: 'first' }, { id: 'last' }]);
      // Resolves when no worker holds a job.
      await new RedisJobs(redisOf(backend), `${prefix}:{jobs}`).untilHeld(0);
      expect(logged).toEqual([expect.stringContaining('job damaged of the queue turns')]);
    },
  );
});
