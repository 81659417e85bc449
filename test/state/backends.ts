import type { StateSubject } from '../../src/testing/index.js';
import { openMemory, type TestedState, withDefaults } from '../../src/testing/state/index.js';
import { CLUSTER_URL, HAS_REDIS } from '../support/redis/describe-redis.js';
import { openPostgres } from './postgres-fixture.js';
import { openRedis } from './redis-fixture.js';
import { openSqlite } from './sqlite-fixture.js';

/** A started backend with nothing in it. */
export type OpenedBackend = TestedState;

/** A backend that the contract suite runs against. */
export interface TestedBackend extends StateSubject {
  readonly name: string;
  readonly open: () => Promise<OpenedBackend>;
}

/** What Redis leaves to VECTOR_STORE_URL. */
const LIBRARY = ['files', 'vectors', 'vectorStores'] as const;

const ALL: readonly TestedBackend[] = [
  { name: 'memory', open: async () => withDefaults(await openMemory()), without: ['limits'] },
  { name: 'sqlite', open: () => openSqlite(), without: ['limits'] },
  { name: 'postgres', open: openPostgres },
  // Where there is no Redis it is left out, which redis-start.spec.ts says.
  ...(HAS_REDIS
    ? [
        { name: 'redis', open: () => openRedis(), without: LIBRARY, forgetsUsage: true },
        {
          name: 'redis cluster',
          open: () => openRedis(CLUSTER_URL),
          without: LIBRARY,
          forgetsUsage: true,
        },
      ]
    : []),
];

/** Every backend that there is; states are moved to the next one and back. */
export const BACKENDS: readonly TestedBackend[] = ALL.map((tested, index) => ({
  ...tested,
  openPeer: ALL[(index + 1) % ALL.length]?.open ?? tested.open,
}));
