import type { Logger } from '@nestjs/common';
import pg from 'pg';

import type { Clock } from '../../time/index.js';
import { describe } from '../driver-errors.js';
import { StateStartError } from '../errors.js';
import { toVector } from '../sql/chunks.js';
import type { ChunkQuery } from '../vector-index.js';
import { adHoc, prepared, type RunStatement, type Statement } from '../sql/statement.js';
import { STORE_BATCH as BATCH } from '../sql/statements/vector-stores.js';
import { type DatabaseSettings, directOptions } from './connection-options.js';
import type { Database } from './database.js';
import {
  APPEND,
  appendWithHalf,
  type Candidate,
  type NewChunks,
  OF_WANTED,
  type Wanted,
} from './statements/vectors.js';

/** The name under which `npm run migrate` reports what POSTGRES_VECTORS=pgvector needs. */
const MIGRATION = 'pgvector';

/** The first version that has `halfvec`, and the first whose scans of an index go on until enough rows pass a filter. */
const OLDEST = [0, 7];
const ITERATES = [0, 8];

/** Most dimensions of a `halfvec`, and of one in an index. */
const MOST_DIMENSIONS = 16_000;
const MOST_INDEXED = 4000;

/** Up to so many chunks are compared one by one, which is exact: an index pays beyond. */
const MOST_COMPARED = 10_000;

/** How many candidates an index looks at: more find more of the nearest. */
const EF_SEARCH = 200;

/** How often it is looked for vectors without an index, ms. */
const LOOK_MS = 600_000;

/** What the database says of the extension. */
interface Installed {
  /** The schema in which its types are, quoted. */
  readonly schema: string;
  readonly version: readonly number[];
  /** Whether chunks have a column for it. */
  readonly isUsed: boolean;
}

const FIND_INSTALLED = `SELECT quote_ident(n.nspname) AS schema, e.extversion AS version, EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = to_regclass('antiphon.vector_chunks') AND attname = 'half' AND NOT attisdropped
  ) AS is_used
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`;

/** Runs a text, and returns its rows. */
type RunText = (text: string) => Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;

async function findInstalled(run: RunText): Promise<Installed | undefined> {
  const [row] = (await run(FIND_INSTALLED)).rows;
  if (row === undefined) return undefined;
  const version = String(row['version']).split('.').map(Number);
  return { schema: String(row['schema']), version, isUsed: row['is_used'] === true };
}

/** The name of what POSTGRES_VECTORS=pgvector needs, and the database lacks. Throws StateStartError for an extension that is not there. */
export async function pendingPgvector(client: pg.Client, settings: DatabaseSettings): Promise<string | undefined> {
  if (settings.POSTGRES_VECTORS !== 'pgvector') return undefined;
  const installed = await findInstalled((text) => client.query(text));
  if (installed !== undefined) {
    requireVersion(installed.version.join('.'));
    return installed.isUsed ? undefined : MIGRATION;
  }
  const { rows } = await client.query<{ version: string }>(
    `SELECT default_version AS version FROM pg_available_extensions WHERE name = 'vector'`,
  );
  if (rows[0] === undefined) {
    throw new StateStartError(
      'POSTGRES_VECTORS: the database server has no extension pgvector. Install it there, or set POSTGRES_VECTORS to auto.',
    );
  }
  requireVersion(rows[0].version);
  return MIGRATION;
}

/** Creates the extension, and the column of chunks that it searches, once `pendingPgvector` has named it. Throws StateStartError. */
export async function migratePgvector(client: pg.Client, settings: DatabaseSettings): Promise<string | undefined> {
  const pending = await pendingPgvector(client, settings);
  if (pending === undefined) return undefined;
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS vector');
  } catch (error) {
    throw new StateStartError(
      `POSTGRES_VECTORS: the extension was not created: ${describe(error)}. Run CREATE EXTENSION vector as a superuser of the database.`,
      { cause: error },
    );
  }
  const installed = await findInstalled((text) => client.query(text));
  // Null for chunks that were written without it. They are found all the same, and given one in the background.
  await client.query(
    `ALTER TABLE antiphon.vector_chunks ADD COLUMN IF NOT EXISTS half ${installed?.schema}.halfvec;
    ALTER TABLE antiphon.vector_chunks ALTER COLUMN half SET STORAGE MAIN;
    CREATE INDEX IF NOT EXISTS vector_chunks_without_half ON antiphon.vector_chunks (document, position) WHERE half IS NULL`,
  );
  return pending;
}

function requireVersion(version: string): void {
  if (isAtLeast(version.split('.').map(Number), OLDEST)) return;
  throw new StateStartError(
    `POSTGRES_VECTORS: pgvector ${version} is too old. Update it to ${OLDEST.join('.')} or later (ALTER EXTENSION vector UPDATE).`,
  );
}

function isAtLeast(
  [major = 0, minor = 0]: readonly number[],
  [wanted = 0, wantedMinor = 0]: readonly number[],
): boolean {
  return major > wanted || (major === wanted && minor >= wantedMinor);
}

type Asked = readonly [...Wanted, half: string, vectorBytes: number, limit: number];

/** The statements over a column of halfvec, whose type may be in any schema. */
function statementsOver(schema: string) {
  const type = `${schema}.halfvec`;
  const distance = `OPERATOR(${schema}.<=>)`;
  const select = `SELECT c.document, c.position, c.vector FROM antiphon.vector_chunks c WHERE ${OF_WANTED}`;
  return {
    append: appendWithHalf(type),
    setHalves: prepared<
      readonly [documents: readonly string[], positions: readonly number[], halves: readonly string[]],
      never
    >(
      'set_halves',
      `UPDATE antiphon.vector_chunks c SET half = n.half::${type}
      FROM unnest($1::bigint[], $2::int[], $3::text[]) AS n (document, position, half)
      WHERE c.document = n.document AND c.position = n.position`,
    ),
    /** Compares one by one. Vectors of other lengths cannot be compared, so the length is checked first. */
    compare: prepared<Asked, Candidate>(
      'compare_halves',
      `${select} AND c.half IS NOT NULL AND length(c.vector) = $5
      ORDER BY CASE WHEN length(c.vector) = $5 THEN c.half ${distance} $4::text::${type} END, c.document, c.position LIMIT $6`,
    ),
    /** Asks the index of vectors with so many numbers. */
    search: (dimensions: number): Statement<readonly [...Wanted, half: string, limit: number], Candidate> =>
      prepared(
        `search_halves_${dimensions}`,
        `${select} AND ${schema}.vector_dims(c.half) = ${dimensions}
        ORDER BY c.half::${type}(${dimensions}) ${distance} $4::text::${type}(${dimensions}) LIMIT $5`,
      ),
    index: (dimensions: number): string =>
      `CREATE INDEX CONCURRENTLY ${indexOf(dimensions)} ON antiphon.vector_chunks
      USING hnsw ((half::${type}(${dimensions})) ${schema}.halfvec_cosine_ops)
      WHERE ${schema}.vector_dims(half) = ${dimensions}`,
    /** The numbers of dimensions that many chunks have. */
    common: `SELECT ${schema}.vector_dims(half) AS dimensions FROM antiphon.vector_chunks WHERE half IS NOT NULL
      GROUP BY 1 HAVING count(*) > ${MOST_COMPARED}`,
  };
}

function indexOf(dimensions: number): string {
  return `vector_chunks_near_${dimensions}`;
}

const INDEXES = adHoc<readonly [], { readonly name: string; readonly is_valid: boolean }>(
  `SELECT c.relname AS name, i.indisvalid AS is_valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = 'antiphon.vector_chunks'::regclass AND c.relname LIKE 'vector\\_chunks\\_near\\_%'`,
);

const COUNT_WANTED = prepared<Wanted, { readonly count: number }>(
  'count_wanted_chunks',
  `SELECT count(*)::float8 AS count FROM (
    SELECT FROM antiphon.vector_chunks c WHERE ${OF_WANTED} LIMIT ${MOST_COMPARED + 1}
  ) counted`,
);

const WITHOUT_HALF = prepared<readonly [], Candidate>(
  'chunks_without_half',
  `SELECT document, position, vector FROM antiphon.vector_chunks
  WHERE half IS NULL AND length(vector) BETWEEN 4 AND ${MOST_DIMENSIONS * 4} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`,
);

const CANCEL = adHoc<readonly [pid: number], unknown>('SELECT pg_cancel_backend($1)');

/** Held by the process that builds indexes, until its connection ends. */
const LOCK = `SELECT pg_try_advisory_lock(hashtextextended('antiphon vector indexes', 0)) AS is_held`;

/**
 * Nearest neighbours by pgvector, where POSTGRES_VECTORS says so and the database has it. Chunks have their vectors in half precision beside
 * the whole ones, by which hits are scored, so that it can be switched on and off. Few chunks are compared one by one; of many, an HNSW index
 * of all vectors with so many dimensions finds those that pass.
 */
export class Pgvector {
  private statements: ReturnType<typeof statementsOver> | null = null;
  private iterates = false;
  /** The dimensions that have an index. */
  private readonly indexed = new Set<number>();
  private building: Promise<void> | null = null;
  private builder: pg.Client | null = null;
  private lookAt = 0;

  constructor(
    private readonly settings: DatabaseSettings,
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  /** Whether chunks are searched by it. */
  get isUsed(): boolean {
    return this.statements !== null;
  }

  /** Looks for it, once the schema is up to date. */
  async start(): Promise<void> {
    if (this.settings.POSTGRES_VECTORS === 'bits') return;
    const installed = await findInstalled((text) => this.database.library(text));
    if (installed?.isUsed !== true || !isAtLeast(installed.version, OLDEST)) return;
    this.statements = statementsOver(installed.schema);
    this.iterates = isAtLeast(installed.version, ITERATES);
    await this.readIndexes();
    this.logger.log(`vectors are searched by pgvector ${installed.version.join('.')}`);
  }

  async stop(): Promise<void> {
    // An index that is not complete is built anew by the next process.
    const { processID: pid } = (this.builder ?? {}) as { readonly processID?: number };
    if (pid !== undefined) await this.database.query(CANCEL, [pid]).catch(() => undefined);
    await this.building;
  }

  /** Writes chunks, with what is searched of them. */
  async append(run: RunStatement, chunks: NewChunks, vectors: readonly Float32Array[]): Promise<void> {
    const toHalf = (vector: Float32Array): string | null => (vector.length > MOST_DIMENSIONS ? null : toText(vector));
    if (this.statements === null) await run(APPEND, chunks);
    else await run(this.statements.append, [...chunks, vectors.map(toHalf)]);
  }

  /** Chunks that may be nearest, of those that it knows. */
  async candidates(
    wanted: Wanted,
    vector: Float32Array,
    { limit }: Pick<ChunkQuery, 'limit'>,
  ): Promise<readonly Candidate[]> {
    const { statements, database } = this;
    if (statements === null || vector.length > MOST_DIMENSIONS) return [];
    // Halves rank a little differently.
    const most = limit * 2;
    const half = toText(vector);
    if (this.iterates && this.indexed.has(vector.length)) {
      const [counted] = await database.repeatable(COUNT_WANTED, wanted);
      if ((counted?.count ?? 0) > MOST_COMPARED) {
        const found = await database.transaction(async (run) => {
          await run(SEARCH_SETTINGS, []);
          return run(statements.search(vector.length), [...wanted, half, most]);
        });
        // With fewer, the filter has let too little pass of what the index has found.
        if (found.length === most) return found;
      }
    }
    return database.repeatable(statements.compare, [...wanted, half, vector.byteLength, most]);
  }

  /** Gives a batch of chunks that were written without it what is searched of them. Whether there may be more. */
  async backfill(): Promise<boolean> {
    const { statements } = this;
    if (statements === null) return false;
    const isMore = await this.database.transaction(async (run) => {
      const chunks = await run(WITHOUT_HALF, []);
      const halves = chunks.map(({ vector }) => toText(toVector(vector)));
      const places = [chunks.map(({ document }) => document), chunks.map(({ position }) => position)] as const;
      await run(statements.setHalves, [...places, halves]);
      return chunks.length === BATCH;
    });
    if (!isMore) this.lookLater();
    return isMore;
  }

  /** Looks in the background for vectors without an index, now and then. */
  private lookLater(): void {
    if (this.clock.now() < this.lookAt || this.building !== null) return;
    this.lookAt = this.clock.now() + LOOK_MS;
    const looking = this.settings.POSTGRES_VECTORS === 'pgvector' ? this.build() : this.readIndexes();
    this.building = looking
      .catch((error: unknown) => {
        this.logger.warn(`vectors have no index, and are compared one by one: ${describe(error)}`);
      })
      .finally(() => (this.building = null));
  }

  /** Builds the indexes that are missing. */
  private async build(): Promise<void> {
    const { statements } = this;
    if (statements === null) return;
    // Without the time limit of requests.
    const client = new pg.Client(directOptions(this.settings));
    client.on('error', () => undefined);
    this.builder = client;
    try {
      await client.connect();
      const { rows } = await client.query<{ is_held: boolean }>(LOCK);
      if (rows[0]?.is_held !== true) return;
      await this.readIndexes();
      const common = await client.query<{ dimensions: number }>(statements.common);
      for (const { dimensions } of common.rows) {
        if (this.indexed.has(dimensions) || dimensions > MOST_INDEXED) continue;
        // A process that ended meanwhile may have left an incomplete index.
        await client.query(`DROP INDEX CONCURRENTLY IF EXISTS antiphon.${indexOf(dimensions)}`);
        await client.query(statements.index(dimensions));
        this.indexed.add(dimensions);
      }
    } finally {
      this.builder = null;
      await client.end();
    }
  }

  private async readIndexes(): Promise<void> {
    for (const { name, is_valid: isValid } of await this.database.repeatable(INDEXES, [])) {
      if (isValid) this.indexed.add(Number(name.slice(indexOf(0).length - 1)));
    }
  }
}

/** For the transaction: the index is asked, without a sort of all, until enough has passed the filter. */
const SEARCH_SETTINGS = adHoc<readonly [], unknown>(
  `SELECT set_config('enable_sort', 'off', true), set_config('hnsw.iterative_scan', 'strict_order', true),
    set_config('hnsw.ef_search', '${EF_SEARCH}', true)`,
);

/** Numbers that are not finite, which a model of an earlier version may have given, are 0: the type takes none. */
function toText(vector: Float32Array): string {
  return `[${vector.map((each) => (Number.isFinite(each) ? each : 0)).join(',')}]`;
}
