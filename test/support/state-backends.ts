import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createTestDatabase } from './postgres/test-database.js';
import { removeKeys } from './redis/remove-keys.js';
import { endingWith, type Service, type ServiceOptions, startService } from './service.js';

/** How long the servers of a state may take to answer, ms: a machine that stands still is no outage. */
export const STATE_PATIENCE_MS = 60_000;

/** Where the services of a test keep their state; empty at first. */
export interface TestState extends AsyncDisposable {
  /** What makes a service use it. */
  readonly environment: Readonly<Record<string, string>>;
  /** Removes it, once no service uses it any more. */
  drop(): Promise<void>;
}

/** A value of STATE. */
export interface StateKind {
  readonly state: 'memory' | 'sqlite' | 'postgres' | 'redis';
  readonly open: () => Promise<TestState>;
}

/** Redis is there where the test run found a server. */
const REDIS: readonly StateKind[] =
  process.env['TEST_REDIS_URL'] === undefined ? [] : [{ state: 'redis', open: openRedis }];

/** Every value of STATE, for specs whose subject is what a backend does to a service. */
export const EVERY_STATE: readonly StateKind[] = [
  { state: 'memory', open: openMemory },
  { state: 'sqlite', open: openSqlite },
  { state: 'postgres', open: openPostgres },
  ...REDIS,
];

/**
 * One state of a process and one that replicas share: what the API does is tested on these. What it needs of a backend is in the
 * contract suite of test/state, which runs for all of them and for a Redis cluster.
 */
export const STATES: readonly StateKind[] = EVERY_STATE.filter(
  ({ state }) => state === 'memory' || state === 'postgres',
);

/** For cases that press, of which one is enough. */
export const ONE_STATE: readonly StateKind[] = EVERY_STATE.filter(({ state }) => state === 'postgres');

/** The values of STATE that replicas share. */
export const SHARED_STATES: readonly StateKind[] = EVERY_STATE.filter(
  ({ state }) => state === 'postgres' || state === 'redis',
);

async function openMemory(): Promise<TestState> {
  const drop = async (): Promise<void> => {
    // It goes with the service.
  };
  return { environment: {}, drop, [Symbol.asyncDispose]: drop };
}

/** A file of its own, for one service after another. */
async function openSqlite(): Promise<TestState> {
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-state-'));
  const drop = (): Promise<void> => rm(directory, { recursive: true, force: true });
  return { environment: { STATE: 'sqlite', STATE_DIR: directory }, drop, [Symbol.asyncDispose]: drop };
}

/** Keys of its own on the server of the test run, for one service or for several that share them. */
async function openRedis(): Promise<TestState> {
  const url = process.env['TEST_REDIS_URL'] ?? '';
  const prefix = `test-${randomUUID()}`;
  const drop = (): Promise<void> => removeKeys(url, `${prefix}:*`);
  const patience = { REDIS_COMMAND_TIMEOUT_MS: String(STATE_PATIENCE_MS) };
  const environment = { STATE: 'redis', REDIS_URL: url, REDIS_PREFIX: prefix, ...patience };
  return { environment, drop, [Symbol.asyncDispose]: drop };
}

/** A database of its own, for one service or for several that share it. */
export async function openPostgres(): Promise<TestState> {
  const database = await createTestDatabase();
  const drop = (): Promise<void> => database.drop();
  const patience = {
    DATABASE_CONNECT_TIMEOUT_MS: String(STATE_PATIENCE_MS),
    DATABASE_STATEMENT_TIMEOUT_MS: String(STATE_PATIENCE_MS),
  };
  const environment = { STATE: 'postgres', DATABASE_URL: database.url, ...patience };
  return { environment, drop, [Symbol.asyncDispose]: drop };
}

/** Starts a service over an empty state; its end removes the state as well. */
export async function startServiceIn(open: StateKind['open'], options: ServiceOptions = {}): Promise<Service> {
  const state = await open();
  const environment = { ...state.environment, ...options.environment };
  return endingWith(await startService({ ...options, environment }), () => state.drop());
}

/** Two services that share their state, like replicas behind a balancer. */
export interface Replicas extends AsyncDisposable {
  readonly one: Service;
  readonly two: Service;
  /** Ends both and removes the state. */
  close(): Promise<void>;
}

/** Starts two services on a state of their own, in PostgreSQL unless another one is given; the options of the second are those of the first unless given. */
export async function startReplicas(
  options: ServiceOptions,
  ofTwo: ServiceOptions = options,
  open: StateKind['open'] = openPostgres,
): Promise<Replicas> {
  const state = await open();
  const start = ({ environment, ...others }: ServiceOptions): Promise<Service> =>
    startService({ ...others, environment: { ...environment, ...state.environment } });
  // At once, as replicas do: one of them migrates, the other waits.
  const [one, two] = await Promise.all([start(options), start(ofTwo)]);
  const close = async (): Promise<void> => {
    await Promise.all([one.close(), two.close()]);
    await state.drop();
  };
  return { one, two, close, [Symbol.asyncDispose]: close };
}
