import type { Tenant } from '../../src/access/index.js';
import { Environment } from '../../src/config/index.js';
import { MemoryBackend } from '../../src/state/memory/memory-backend.js';
import type { MemoryState } from '../../src/state/memory/memory-state.js';
import type { NewJob, ResponseRecord, StateBackend } from '../../src/state/index.js';
import { FakeClock } from '../../src/testing/index.js';
import { CLUSTER_URL, HAS_REDIS } from '../support/redis/describe-redis.js';
import { openPostgres } from './postgres-fixture.js';
import { LEASE_MS } from './records.js';
import { openRedis } from './redis-fixture.js';
import { openSqlite } from './sqlite-fixture.js';

/** A started backend with nothing in it. */
export interface OpenedBackend extends AsyncDisposable {
  readonly backend: StateBackend;
  /** The time by which responses expire. */
  readonly clock: FakeClock;
  /** Saves many responses at once, parents first. In a database they have no items. */
  saveMany(tenant: Tenant, records: readonly ResponseRecord[]): Promise<void>;
  /** How much is kept of responses and their items, tombstones included, in a unit of the backend: 0 for nothing. */
  content(): Promise<number>;
  /** Lets the leases on all sessions expire. */
  expireLeases(): Promise<void>;
  /** Enqueues jobs, which a store does with what they belong to. */
  enqueue(...jobs: readonly NewJob[]): Promise<void>;
  /** Resolves when exactly so many jobs are held by a worker: what became of the others is known. */
  untilHeld(count: number): Promise<void>;
  /** Lets time pass for the jobs: pauses end, and deliveries take longer. */
  ageJobs(seconds: number): Promise<void>;
  /** Stops it, and removes what it kept. */
  close(): Promise<void>;
}

/** A backend that the contract suite runs against. */
export interface TestedBackend {
  readonly name: string;
  readonly open: () => Promise<OpenedBackend>;
}

/** Every backend that there is. */
export const BACKENDS: readonly TestedBackend[] = [
  { name: 'memory', open: openMemory },
  { name: 'sqlite', open: () => openSqlite() },
  { name: 'postgres', open: openPostgres },
  // Where there is no Redis it is left out, which redis-start.spec.ts says.
  ...(HAS_REDIS
    ? [
        { name: 'redis', open: () => openRedis() },
        { name: 'redis cluster', open: () => openRedis(CLUSTER_URL) },
      ]
    : []),
];

async function openMemory(): Promise<OpenedBackend> {
  const clock = new FakeClock();
  const backend = new MemoryBackend(new Environment(), clock);
  await backend.start();
  // Nobody but a test wants to know.
  const { state } = backend.responses as unknown as { readonly state: MemoryState };
  const close = (): Promise<void> => backend.stop();
  return {
    backend,
    clock,
    saveMany: async (tenant, records) => {
      for (const record of records) await backend.responses.save(tenant, record);
    },
    content: async () => state.bytes,
    expireLeases: async () => clock.advance(LEASE_MS),
    enqueue: async (...jobs) => backend.jobs.add(jobs),
    // The queue is told in microtasks.
    untilHeld: () => new Promise(setImmediate),
    ageJobs: async (seconds) => clock.advance(seconds * 1000),
    close,
    [Symbol.asyncDispose]: close,
  };
}
