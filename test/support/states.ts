import { createTestDatabase } from './postgres/test-database.js';
import { type Service, type ServiceOptions, startService } from './service.js';

/** Where the services of a test keep their state; empty at first. */
export interface TestState extends AsyncDisposable {
  /** What makes a service use it. */
  readonly environment: Readonly<Record<string, string>>;
  /** Removes it, once no service uses it any more. */
  drop(): Promise<void>;
}

/** A value of STATE. */
export interface StateKind {
  readonly state: 'memory' | 'postgres';
  readonly open: () => Promise<TestState>;
}

/** Every value of STATE. What is true of one has to be true of all. */
export const STATES: readonly StateKind[] = [
  { state: 'memory', open: openMemory },
  { state: 'postgres', open: openPostgres },
];

async function openMemory(): Promise<TestState> {
  const drop = async (): Promise<void> => {
    // It goes with the service.
  };
  return { environment: {}, drop, [Symbol.asyncDispose]: drop };
}

/** A database of its own, for one service or for several that share it. */
export async function openPostgres(): Promise<TestState> {
  const database = await createTestDatabase();
  const drop = (): Promise<void> => database.drop();
  return { environment: { STATE: 'postgres', DATABASE_URL: database.url }, drop, [Symbol.asyncDispose]: drop };
}

/** Starts a service over an empty state; its end removes the state as well. */
export async function startServiceIn(open: StateKind['open'], options: ServiceOptions = {}): Promise<Service> {
  const state = await open();
  const environment = { ...state.environment, ...options.environment };
  const service = await startService({ ...options, environment });
  const close = async (): Promise<void> => {
    await service.close();
    await state.drop();
  };
  return { ...service, close, [Symbol.asyncDispose]: close };
}
