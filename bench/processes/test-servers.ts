import { registerHooks } from 'node:module';

import type * as clusters from '../../test/support/postgres/cluster.ts';
import type * as redisServers from '../../test/support/redis/redis-server.ts';

/** What starts a PostgreSQL for the tests. */
export function importCluster(): Promise<typeof clusters> {
  return importSupport(() => import('../../test/support/postgres/cluster.ts'));
}

/** What starts a Redis for the tests. */
export function importRedis(): Promise<typeof redisServers> {
  return importSupport(() => import('../../test/support/redis/redis-server.ts'));
}

/** Files of the tests name what they import `.js`, as jest reads them; Node looks for the very file. */
async function importSupport<T>(load: () => Promise<T>): Promise<T> {
  const support = new URL('../../test/support/', import.meta.url).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const isOurs = context.parentURL?.startsWith(support) === true && specifier.startsWith('.');
      return next(isOurs ? specifier.replace(/\.js$/, '.ts') : specifier, context);
    },
  });
  try {
    return await load();
  } finally {
    hooks.deregister();
  }
}
