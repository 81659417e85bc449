import { Environment, EnvironmentError } from './config/index.js';
import { POSTGRES_PACKAGES, requirePackages, S3_PACKAGE } from './require-packages.js';
import type { Seam } from './seams/index.js';
import {
  type LibraryBackend,
  MemoryBackend,
  observeCalls,
  type StateBackend,
  type StateCallObserver,
} from './state/index.js';
import type { DatabaseSettings } from './state/postgres/index.js';
import { Clock } from './time/index.js';

/** Begins a VECTOR_STORE_URL that names the directory of a file. */
export const SQLITE_SCHEME = 'sqlite:';

/** State backends, by the value of STATE that selects them. */
export type Backends = Readonly<Record<string, Seam<StateBackend>>>;

/** The built-in backends. */
const BACKENDS: Backends = {
  memory: {
    inject: [Environment, Clock],
    useFactory: (environment: Environment, clock: Clock) => new MemoryBackend(environment, clock),
  },
  sqlite: {
    inject: [Environment, Clock],
    useFactory: async (environment: Environment, clock: Clock) => {
      const { SqliteBackend } = await import('./state/sqlite/index.js');
      return new SqliteBackend(environment, clock);
    },
  },
  postgres: {
    inject: [Environment, Clock],
    useFactory: async (environment: Environment, clock: Clock) => {
      // The driver is loaded on demand.
      const { PostgresBackend } = await import('./state/postgres/index.js');
      return new PostgresBackend(environment, clock);
    },
  },
  redis: {
    inject: [Environment, Clock],
    useFactory: async (environment: Environment, clock: Clock) => {
      const { RedisBackend } = await import('./state/redis/index.js');
      return new RedisBackend(environment, clock);
    },
  },
};

/** What the built-in backends load, some of it only with the first job. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  postgres: POSTGRES_PACKAGES,
  redis: ['ioredis', 'bullmq'],
};

/**
 * The backend selected by STATE, of the service or of the program. Throws EnvironmentError when none has that name, or when packages that it needs
 * are not installed.
 */
export function selectBackend(name: string, own: Backends = {}): Seam<StateBackend> {
  const backends = { ...BACKENDS, ...own };
  const backend = Object.hasOwn(backends, name) ? backends[name] : undefined;
  if (backend !== undefined) {
    if (backend === BACKENDS[name]) requirePackages(`STATE=${name}`, ...(PACKAGES[name] ?? []));
    return backend;
  }
  throw new EnvironmentError([`STATE: expected one of ${Object.keys(backends).join(', ')}, but got '${name}'.`]);
}

/**
 * Finds before a start what would keep `libraryOf` from working. Throws EnvironmentError when a package that S3_BUCKET or VECTOR_STORE_URL needs is not
 * installed, and when nothing keeps the records of a bucket. What backends of the program keep is known only once they are there.
 */
export function requireLibrary(environment: Environment, own: Backends = {}): void {
  const { STATE, VECTOR_STORE_URL: url, S3_BUCKET: bucket } = environment;
  const isOwn = Object.hasOwn(own, STATE);
  if (!isOwn && STATE === 'redis') requireDatabase(url);
  if (bucket === '') return;
  if (!isOwn && (STATE === 'memory' || (STATE === 'redis' && url === ''))) throw noRecords();
  requirePackages('S3_BUCKET', S3_PACKAGE);
}

/**
 * What keeps files and vector stores: the state, if it can, or else the backend of VECTOR_STORE_URL; something that keeps none without one. With S3_BUCKET
 * the bytes of files are there. Throws EnvironmentError when a package that it needs is not installed, and when nothing keeps the records.
 */
export async function libraryOf(
  state: LibraryBackend,
  environment: Environment,
  clock: Clock,
  observer: StateCallObserver | null = null,
): Promise<LibraryBackend> {
  const records = await recordsOf(state, environment, clock);
  return environment.S3_BUCKET === '' ? records : withBucket(records, environment, clock, observer);
}

/** The library whose records a database keeps, and the bytes of files a bucket. */
async function withBucket(
  records: LibraryBackend,
  environment: Environment,
  clock: Clock,
  observer: StateCallObserver | null,
): Promise<LibraryBackend> {
  const { files, vectors, vectorStores } = records;
  if (files?.objects === undefined) throw noRecords();
  requirePackages('S3_BUCKET', S3_PACKAGE);
  const { Bucket, toBucketFileStore } = await import('./state/s3/index.js');
  const bucket = new Bucket(environment, clock);
  return {
    files: toBucketFileStore(files, files.objects, observeCalls(bucket, 'objects', observer), clock),
    ...(vectors === undefined ? {} : { vectors }),
    ...(vectorStores === undefined ? {} : { vectorStores }),
    records,
    bucket,
  };
}

function noRecords(): EnvironmentError {
  return new EnvironmentError([
    'S3_BUCKET: needs STATE=sqlite, STATE=postgres or VECTOR_STORE_URL, which keep what is known of files.',
  ]);
}

/** Throws EnvironmentError when VECTOR_STORE_URL names a PostgreSQL whose packages are not installed. */
function requireDatabase(url: string): void {
  if (url !== '' && !url.startsWith(SQLITE_SCHEME)) requirePackages('VECTOR_STORE_URL', ...POSTGRES_PACKAGES);
}

async function recordsOf(state: LibraryBackend, environment: Environment, clock: Clock): Promise<LibraryBackend> {
  const { VECTOR_STORE_URL: url } = environment;
  if (state.files !== undefined) return state;
  if (url === '') return {};
  if (url.startsWith(SQLITE_SCHEME)) {
    const { SqliteBackend } = await import('./state/sqlite/index.js');
    return new SqliteBackend(
      { STATE_DIR: url.slice(SQLITE_SCHEME.length), CONTEXT_MAX_BYTES: environment.CONTEXT_MAX_BYTES },
      clock,
    );
  }
  requireDatabase(url);
  const { PostgresBackend } = await import('./state/postgres/index.js');
  return new PostgresBackend(libraryDatabase(environment), clock);
}

/** The variables of the database that VECTOR_STORE_URL names. */
export function libraryDatabase(environment: Environment): DatabaseSettings {
  const { VECTOR_STORE_URL: DATABASE_URL, DATABASE_POOL_SIZE, DATABASE_MIGRATE, CONTEXT_MAX_BYTES } = environment;
  const { DATABASE_CONNECT_TIMEOUT_MS, DATABASE_STATEMENT_TIMEOUT_MS, POSTGRES_VECTORS } = environment;
  return {
    ...{ DATABASE_URL, DATABASE_DIRECT_URL: '', DATABASE_POOL_SIZE, DATABASE_MIGRATE, CONTEXT_MAX_BYTES },
    ...{ DATABASE_CONNECT_TIMEOUT_MS, DATABASE_STATEMENT_TIMEOUT_MS, POSTGRES_VECTORS },
  };
}
