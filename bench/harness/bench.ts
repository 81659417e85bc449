import { mkdtemp, rm } from 'node:fs/promises';
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

/** The processes of a case, and what they need: each is started when it is asked for, and all end with the case. */
export class Bench implements AsyncDisposable {
  readonly sizes: Sizes;
  private readonly resources = new AsyncDisposableStack();
  private readonly servers = new Map<Start, Promise<Server>>();
  /** What other cases use as well, if the run measures nothing; otherwise this. */
  readonly common: Bench;
  private generator: LoadGenerator | undefined;
  private databases: Databases | undefined;

  constructor(sizes: Sizes, common?: Bench) {
    this.sizes = sizes;
    this.common = common ?? this;
  }

  /** The load generator. */
  get load(): LoadGenerator {
    const { common } = this;
    return (common.generator ??= common.resources.use(new LoadGenerator()));
  }

  /** Starts a program at the first call. */
  server(start: Start): Promise<Server> {
    const server = this.servers.get(start) ?? start(this);
    this.servers.set(start, server);
    return server;
  }

  /** Starts a module of `bench`. */
  async start(module: string, variables?: Variables, way?: Way): Promise<Server> {
    return this.resources.use(await Server.start(module, variables, way));
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
        return { STATE: state, DATABASE_URL: await (await this.common.startDatabases()).create() };
      case 'redis':
        return { STATE: state, REDIS_URL: await this.redis() };
    }
  }

  /** Creates a folder. */
  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
    this.resources.defer(() => rm(folder, { recursive: true }));
    return folder;
  }

  /** Gives the planner of PostgreSQL statistics of what was saved until now. */
  async analyze(): Promise<void> {
    await this.common.databases?.analyze();
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

/** Runs a case: starts its programs, and compares them row by row. A row is left out, with a line on stderr, where the machine lacks a server. */
export async function runCase(one: Case, sizes: Sizes, common?: Bench): Promise<readonly Comparison[]> {
  await using bench = new Bench(sizes, common);
  const comparisons: Comparison[] = [];
  const missing = new Set<string>();
  const prepared = new Set<Server>();
  const prepare = async (server: Server, side: Side): Promise<void> => {
    if (prepared.has(server)) return;
    prepared.add(server);
    await one.prepare?.(server, bench, side);
  };
  for (const row of one.rows(sizes)) {
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
      sides[side] = () => runAnew(start, load, bench.sizes);
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

async function runAnew(start: Start, load: Load, sizes: Sizes): Promise<Sample> {
  await using bench = new Bench(sizes);
  return await load(await bench.server(start), bench);
}
