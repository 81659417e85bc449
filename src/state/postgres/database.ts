import type { Socket } from 'node:net';

import { Logger } from '@nestjs/common';
import pg, { type PoolClient } from 'pg';

import { OutageLog } from '../../logging/index.js';
import { Backoff, type Clock } from '../../time/index.js';
import { describe } from '../driver-errors.js';
import { StateStartError, StoreUnavailableError } from '../errors.js';
import { PAUSES } from '../repeat.js';
import { adHoc, type RunStatement, type Statement } from '../sql/statement.js';
import { awaitSteps, type Modes, type Promised, promised } from '../sql/steps.js';
import { type DatabaseSettings, isPooled, requestOptions } from './connection-options.js';
import {
  breaksConnection,
  isOutOfConnections,
  isRolledBack,
  isLasting,
  isStale,
  isWorthRepeating,
  toStoreError,
} from './errors.js';
import { isDirect, tableFaultOf, usabilityOf, usabilityToWrite } from './requirements.js';

/** How long an unused connection stays open, ms. */
const IDLE_TIMEOUT_MS = 300_000;
/** The client's time limit for a statement exceeds that of the database by this much, ms. */
const GRACE_MS = 1000;
/** Pause before another attempt when the database has reached its connection limit, ms. */
const PAUSE_MS = 20;

/** Time limit for a statement of a snapshot, ms: the first one sorts all responses of a tenant. */
const SNAPSHOT_TIMEOUT_MS = 3_600_000;

/** Milliseconds since the Unix epoch. */
const TIME = adHoc<readonly [], { readonly time: number }>(
  `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS time`,
);

/** The connection pool for requests. All methods throw StoreUnavailableError while the database is unavailable. */
export class Database {
  private readonly logger = new Logger('Database');
  private readonly outages = new OutageLog(this.logger);
  private readonly pool: pg.Pool;
  private readonly isPooled: boolean;
  private readonly limitMs: number;
  private readonly backoff: Backoff;
  /** Connections that are open; the pool also counts those that are being opened. */
  private readonly connections = new Set<PoolClient>();
  private opened = false;
  /** Whether something has failed, other than for a moment, since the last check that did not. */
  private isInDoubt = false;
  private checking: Promise<void> | null = null;
  private ended: Promise<void> | null = null;

  constructor(
    private readonly settings: DatabaseSettings,
    private readonly clock: Clock,
  ) {
    this.isPooled = isPooled(settings);
    this.limitMs = settings.DATABASE_STATEMENT_TIMEOUT_MS + GRACE_MS;
    this.backoff = new Backoff(clock, PAUSES);
    this.pool = new pg.Pool({
      ...requestOptions(settings),
      max: settings.DATABASE_POOL_SIZE,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
    });
    // The pool does not handle errors of a connection in use; the statement is rejected with the same error.
    this.pool.on('connect', (client) => {
      client.on('error', () => undefined);
      client.once('end', () => this.connections.delete(client));
      this.connections.add(client);
    });
    this.pool.on('error', ({ message }) => this.outages.warn('an idle connection was lost', message));
  }

  /**
   * The schema is up to date: statements are accepted from now on, after `prepare`, which may only ask for the time. Throws what that throws,
   * and StateStartError where a table is missing or the role may not use it, and where DATABASE_URL leads to a pooler that does not permit
   * what only a connection to the database itself can do; warns of a pooler that does.
   */
  async open(prepare: () => Promise<void>): Promise<void> {
    if (!this.isPooled) await this.requireDirect();
    await prepare();
    const fault = tableFaultOf(await this.once(usabilityOf, true));
    if (fault !== undefined) throw new StateStartError(`DATABASE_URL: ${fault}`);
    this.opened = true;
  }

  private async requireDirect(): Promise<void> {
    let client: PoolClient;
    try {
      client = await this.pool.connect();
    } catch (error) {
      if (/unsupported startup parameter/.test(describe(error))) {
        throw new StateStartError(`DATABASE_URL: leads to a pooler. Set DATABASE_DIRECT_URL to the database itself.`);
      }
      // Requests will report that the database is away.
      return;
    }
    try {
      const { rows } = await this.ask<{ readonly pid: number }>(client, 'SELECT pg_backend_pid() AS pid');
      if (isDirect(client, rows[0]?.pid)) return;
      this.logger.warn(
        'DATABASE_URL leads to a pooler. Unless it keeps a connection for each client, set DATABASE_DIRECT_URL to the database itself',
      );
    } finally {
      client.release();
    }
  }

  /** Waits for running statements, and closes the connections. */
  async close(): Promise<void> {
    await (this.ended ??= this.pool.end());
  }

  /** Cuts the connections that are open: their statements are rejected. */
  cut(): void {
    this.opened = false;
    for (const client of this.connections)
      (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream.destroy();
  }

  /** What the clock of the database shows, milliseconds since the Unix epoch; also before `open`. */
  async time(): Promise<number> {
    const [row] = await this.once((run) => run(TIME, []), true);
    if (row === undefined) throw new Error('the database gave no time');
    return row.time;
  }

  /**
   * Throws StoreUnavailableError when the database is unavailable or read-only, or has not the tables that the service needs. Those who ask
   * at the same time share one check.
   */
  check(): Promise<void> {
    return (this.checking ??= this.checkNow().finally(() => (this.checking = null)));
  }

  private async checkNow(): Promise<void> {
    // A connection to what is a standby now, or that was opened while the database was read-only, stays read-only. Nothing else would replace
    // it, because no turn writes in this time.
    for (let left = this.connections.size + 1; ; left -= 1) {
      try {
        const fault = tableFaultOf(await this.withConnection(usabilityToWrite));
        this.isInDoubt = fault !== undefined;
        if (fault === undefined) return;
        throw new StoreUnavailableError(fault);
      } catch (error) {
        if (left === 0 || !isWorthAnother(error)) throw error;
      }
    }
  }

  /**
   * The same, but only when something has failed since the last check, or when the last attempt to connect failed and no connection is open;
   * otherwise returns no promise.
   */
  checkIfInDoubt(): void | Promise<void> {
    const isAway = !this.opened || (this.connections.size === 0 && this.backoff.hasFailed);
    if (isAway || this.isInDoubt) return this.check();
  }

  /** Runs a statement. */
  readonly query: RunStatement = (statement, values) => this.withConnection((run) => run(statement, values));

  /** Runs an idempotent statement, once more when its connection broke, or the database has rolled it back for another one. */
  readonly repeatable: RunStatement = async (statement, values) => {
    try {
      return await this.query(statement, values);
    } catch (error) {
      if (!isWorthAnother(error)) throw error;
      return this.query(statement, values);
    }
  };

  /** Runs several statements in one transaction. */
  transaction<T>(work: (run: RunStatement) => Promise<T>): Promise<T> {
    return this.withConnection(async (run, client) => {
      await this.ask(client, 'BEGIN');
      try {
        const result = await work(run);
        await this.ask(client, 'COMMIT');
        return result;
      } catch (error) {
        // The database rolls back a discarded connection itself.
        if (!breaksConnection(error)) await this.ask(client, 'ROLLBACK');
        throw error;
      }
    });
  }

  /** A contract whose methods are steps. */
  contract<Methods extends object, Name extends keyof Methods & string>(
    methods: Methods,
    modes: Modes<Name>,
  ): Promised<Methods, Name> {
    return promised(methods, modes, (begin, mode) => {
      if (mode === 'transaction') return this.transaction((run) => awaitSteps(begin(), run));
      return awaitSteps(begin(), (statement, values) => {
        return statement.isOnce === true ? this.query(statement, values) : this.repeatable(statement, values);
      });
    });
  }

  /** Reads in one snapshot, however long that takes; it ends with the iteration. */
  async *snapshot<T>(read: (run: RunStatement) => AsyncIterable<T>): AsyncGenerator<T> {
    const client = await this.connect();
    let broken = false;
    try {
      await this.ask(client, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      await this.ask(client, 'SET LOCAL statement_timeout = 0');
      yield* read((statement, values) => this.run(client, statement, values, SNAPSHOT_TIMEOUT_MS));
    } catch (error) {
      broken = breaksConnection(error);
      throw toStoreError(error);
    } finally {
      if (!broken) await this.ask(client, 'ROLLBACK').catch(() => (broken = true));
      client.release(broken);
    }
  }

  /**
   * Runs SQL of a library, and returns the result of the driver: one statement, or several without values, which may be
   * a transaction.
   */
  readonly library = (text: string, values?: readonly unknown[]): Promise<pg.QueryResult> =>
    this.withConnection(async (_run, client) => {
      try {
        return await this.ask(client, text, { values: values && [...values] });
      } catch (error) {
        // The texts may begin a transaction, and end it only when nothing fails.
        if (values === undefined && !breaksConnection(error)) await this.ask(client, 'ROLLBACK');
        throw error;
      }
    });

  /** Works once more after a conflict, and as long as connections of the pool are stale: each one is discarded. */
  private async withConnection<T>(work: (run: RunStatement, client: PoolClient) => Promise<T>): Promise<T> {
    for (let conflicts = 0, stale = 0; ;) {
      try {
        return await this.once(work);
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        if (isRolledBack(error.cause)) conflicts += 1;
        else if (isStale(error.cause)) stale += 1;
        else throw error;
        if (conflicts > 1 || stale > this.settings.DATABASE_POOL_SIZE) throw error;
      }
    }
  }

  private async once<T>(work: (run: RunStatement, client: PoolClient) => Promise<T>, isOpen = this.opened): Promise<T> {
    const client = await this.connect(isOpen);
    let broken = false;
    try {
      return await work((statement, values) => this.run(client, statement, values), client);
    } catch (error) {
      broken = breaksConnection(error);
      this.isInDoubt ||= isLasting(error);
      throw toStoreError(error);
    } finally {
      client.release(broken);
    }
  }

  private async connect(isOpen = this.opened): Promise<PoolClient> {
    if (!isOpen) throw new StoreUnavailableError('the database is not ready yet');
    // With an open connection the database is available, and only the number of connections may be exhausted.
    if (this.pool.totalCount === 0 && this.backoff.isWaiting) {
      throw new StoreUnavailableError('the last attempt to connect to the database failed');
    }
    const deadline = this.clock.now() + this.settings.DATABASE_CONNECT_TIMEOUT_MS;
    for (;;) {
      try {
        const client = await this.pool.connect();
        this.backoff.succeeded();
        return client;
      } catch (error) {
        if (isOutOfConnections(error) && this.pool.totalCount > 0 && this.clock.now() < deadline) {
          // Open connections become free all the time, but the pool fails the request that asked for one more.
          await this.clock.sleep(PAUSE_MS);
          continue;
        }
        // Any error counts: connections were possible before.
        this.backoff.failed();
        throw new StoreUnavailableError(`no connection to the database: ${describe(error)}`, { cause: error });
      }
    }
  }

  private async run<Values extends readonly unknown[], Row>(
    client: PoolClient,
    { text, name }: Statement<Values, Row>,
    values: Values,
    timeoutMs?: number,
  ): Promise<readonly Row[]> {
    const prepared = name === undefined || this.isPooled ? {} : { name };
    const { rows } = await this.ask<Row & pg.QueryResultRow>(
      client,
      { text, values: [...values], ...prepared },
      { limitMs: timeoutMs },
    );
    return rows;
  }

  /**
   * Asks the driver with a callback, and limits the time. For a promise, and for a limit of its own, the driver assigns functions to members of
   * the query, which V8 keeps until a full collection with all that they refer to.
   */
  private ask<Row extends pg.QueryResultRow>(
    client: PoolClient,
    query: string | pg.QueryConfig,
    {
      values,
      limitMs = this.limitMs,
    }: { readonly values?: unknown[] | undefined; readonly limitMs?: number | undefined } = {},
  ): Promise<pg.QueryResult<Row>> {
    return new Promise((resolve, reject) => {
      // A connection whose query takes too long is discarded.
      const timer = setTimeout(() => reject(new Error('query read timeout')), limitMs);
      client.query<Row>(query as string, values as unknown[], (error: Error | null, result) => {
        clearTimeout(timer);
        if (error === null) resolve(result);
        else reject(error);
      });
    });
  }
}

/** Whether something idempotent is worth another attempt: its connection broke, or the database has rolled it back for another one. */
function isWorthAnother(error: unknown): boolean {
  return error instanceof StoreUnavailableError && (isWorthRepeating(error.cause) || isRolledBack(error.cause));
}
