import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Runners } from '../load/main.ts';
import type { Comparison } from '../report/report.ts';
import type { Sizes } from '../sizes.ts';
import type { Case, Load, Row } from './case.ts';
import { compare, type Figure, type Sample, type Side, SIDES, toFigures } from './measure.ts';
import { LoadGenerator, Server, type Variables, type Way } from './processes.ts';
import { Databases, importRedis } from './test-servers.ts';

/** Starts a program. */
export type Start = (bench: Bench) => Promise<Server>;

/** What this machine does not have. */
class Missing extends Error {}

/**
 * The processes of a case, and what they need: each is started when it is asked for, and all end with the case. All cases of a proof, which
 * measures nothing, have one, and one process for all that start the same program.
 */
export class Bench implements AsyncDisposable {
  readonly sizes: Sizes;
  /** Whether the run measures nothing. */
  readonly isProof: boolean;
  private readonly resources = new AsyncDisposableStack();
  private readonly servers = new Map<Start | string, Promise<Server>>();
  private readonly files = new Map<string, Promise<string>>();
  private generator: LoadGenerator | undefined;
  private databases: Databases | undefined;

  constructor(sizes: Sizes, isProof = false) {
    this.sizes = sizes;
    this.isProof = isProof;
  }

  /** Another one, for a round that starts its programs anew. */
  anew(): Bench {
    return new Bench(this.sizes, this.isProof);
  }

  /** The load generator. */
  get load(): LoadGenerator {
    return (this.generator ??= this.resources.use(new LoadGenerator()));
  }

  /** How often to do what only makes a program fast, or a figure exact: in a proof once. */
  times(count: number): number {
    return this.isProof ? 1 : count;
  }

  /** Starts a program at the first call. */
  server(start: Start): Promise<Server> {
    return remember(this.servers, start, () => start(this));
  }

  /** Starts a module of `bench`. */
  start(module: string, variables: Variables = {}, way: Way = 'measured'): Promise<Server> {
    const all = { ...DEFAULTS, ...variables };
    const start = async (): Promise<Server> => this.resources.use(await Server.start(module, all, way));
    return this.isProof ? remember(this.servers, JSON.stringify([module, all, way]), start) : start();
  }

  /** Writes a file that a program reads; resolves with its path. */
  file(content: string): Promise<string> {
    return remember(this.files, content, async () => {
      const path = join(await this.folder(), 'file.json');
      await writeFile(path, content);
      return path;
    });
  }

  /**
   * Creates an empty state; resolves with the variables that make a service use it. PostgreSQL and Redis do not wait for the disk, so
   * that the service is measured; SQLite does, as in production.
   */
  async state(state: 'memory' | 'sqlite' | 'postgres' | 'redis'): Promise<Variables> {
    switch (state) {
      case 'memory':
        return { STATE: state };
      case 'sqlite':
        return { STATE: state, STATE_DIR: await this.folder() };
      case 'postgres':
        return { STATE: state, DATABASE_URL: await (await this.startDatabases()).create() };
      case 'redis':
        return { STATE: state, REDIS_URL: await this.redis() };
    }
  }

  /** Gives the planner of PostgreSQL statistics of what was saved until now. */
  async analyze(): Promise<void> {
    await this.databases?.analyze();
  }

  /** Runs a job against a server; resolves with its outcome, the CPU time that the server took for it, µs, and its database round trips. */
  async measure<Type extends keyof Runners>(server: Server, type: Type, job: Parameters<Runners[Type]>[0]) {
    const before = await server.report('usage');
    const outcome = await this.load.run(type, job);
    const after = await server.report('usage');
    const cpu = after.cpuMicroseconds - before.cpuMicroseconds;
    return { ...outcome, cpu, roundTrips: after.roundTrips - before.roundTrips };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources.disposeAsync();
  }

  private async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
    this.resources.defer(() => rm(folder, { recursive: true }));
    return folder;
  }

  private async startDatabases(): Promise<Databases> {
    return (this.databases ??= this.resources.use(await Databases.start()));
  }

  private async redis(): Promise<string> {
    try {
      return this.resources.use(await (await importRedis()).startRedis()).url;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
      throw new Missing('nothing is measured with Redis, since there is no redis-server on PATH');
    }
  }
}

/** What every program gets unless a case says otherwise. */
const DEFAULTS: Variables = {
  ...{ PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'error', STATE: 'memory' },
  WS_MAX_CONNECTIONS: '1000000',
};

function remember<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

/** Runs a case: starts its programs, and compares them row by row. A row is left out, with a line on stderr, where the machine lacks a server. */
export async function runCase(one: Case, bench: Bench): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = [];
  const missing = new Set<string>();
  const prepared = new Set<Server>();
  const prepare = async (server: Server, side: Side): Promise<void> => {
    if (prepared.has(server)) return;
    prepared.add(server);
    await one.prepare?.(server, bench, side);
  };
  for (const row of one.rows(bench.sizes)) {
    try {
      comparisons.push({ name: row.name, figures: await runRow(one, row, bench, prepare), goals: row.goals ?? [] });
    } catch (error) {
      // The error of a connection does not say whose it was.
      if (!(error instanceof Missing)) throw new Error(`${row.name} has failed`, { cause: error });
      missing.add(error.message);
    }
  }
  for (const what of missing) process.stderr.write(`SKIPPED: ${what}\n`);
  return comparisons;
}

async function runRow(
  one: Case,
  row: Row,
  bench: Bench,
  prepare: (server: Server, side: Side) => Promise<void>,
): Promise<readonly Figure[]> {
  if (row.run !== undefined) return toFigures(await row.run(bench));
  const starts = row.sides ?? one.sides ?? {};
  const sides: Partial<Record<Side, () => Promise<Sample>>> = {};
  for (const side of SIDES) {
    const [start, load] = [starts[side], toLoad(row, side)];
    if (start === undefined || load === undefined) continue;
    if (one.isAnew === true) {
      sides[side] = () => runAnew(start, load, bench);
    } else {
      const server = await bench.server(start);
      await prepare(server, side);
      sides[side] = () => load(server, bench);
    }
  }
  return compare(sides, one.rounds?.(bench.sizes) ?? bench.sizes);
}

function toLoad({ load }: Row, side: Side): Load | undefined {
  return typeof load === 'object' ? load[side] : load;
}

async function runAnew(start: Start, load: Load, one: Bench): Promise<Sample> {
  await using bench = one.anew();
  return await load(await bench.server(start), bench);
}
