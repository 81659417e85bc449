import { describe } from '@jest/globals';

/** Whether the test run has a Redis. Where it has none, everything about Redis is skipped. */
export const HAS_REDIS = process.env['TEST_REDIS_URL'] !== undefined;

/** The cluster of the test run: three primaries without replicas. There is one wherever there is a Redis. */
export const CLUSTER_URL = process.env['TEST_REDIS_CLUSTER_URL'];

/** `describe` for what needs a Redis. Where there is none it is skipped, and says so. */
export function describeRedis(name: string, tests: () => void): void {
  if (HAS_REDIS) {
    describe(name, tests);
    return;
  }
  console.warn(`SKIPPED, since there is no redis-server on PATH and no REDIS_SERVER: ${name}`);
  describe.skip(`${name} (skipped: there is no redis-server)`, tests);
}
