import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Runners } from '../load/main.ts';
import type { Sizes } from '../options.ts';
import type { Comparison } from '../report/report.ts';
import type { Case, Load, Row } from './case.ts';
import { type Figure, type Round, type Sample, type Side, SIDES, toFigures } from './measure.ts';
import { LoadGenerator, Server, type Variables, type Way } from './processes.ts';
import { Databases, importRedis } from './test-servers.ts';

/** Starts a program. */
export type Start = (bench: Bench) => Promise<Server>;

/** The names of the backends. */
export const STATES = ['memory', 'sqlite', 'postgres', 'redis'] as const;

/** What this machine does not have. */
class Missing extends Error {}

/** What every program gets unless a case says otherwise. */
const DEFAULTS: Variables = {
  ...{ PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'error', STATE: 'memory' },
  WS_MAX_CONNECTIONS: '1000000',
};

/**
 * The processes of a case, and what they need: each is started when it is asked for, and all end with the case. All cases of a proof, which
 * measures nothing, have one, and one process for each program, with whatever variables it is started.
 */
export class Bench implements AsyncDisposable {
  readonly sizes: Sizes;
  /** Whether the run measures nothing. */
  readonly isProof: boolean;
  /** What programs need, which outlives them. */
  private readonly resources = new AsyncDisposableStack();
  private readonly programs = new AsyncDisposableStack();
  private readonly started = new Map<unknown, Promise<unknown>>();
  private generator: LoadGenerator | undefined;
  private databases: Databases | undefined;

  constructor(sizes: Sizes, isProof = false) {
    this.sizes = sizes;
    this.isProof = isProof;
  }

  /** The load generator. */
  get load(): LoadGenerator {
    return (this.generator ??= this.programs.use(new LoadGenerator()));
  }

  /** What has programs of its own, which end with this one. */
  inner(): Bench {
    return this.programs.use(new Bench(this.sizes, this.isProof));
  }

  /** How often to do what only makes a program fast, or a figure exact: in a proof once. */
  times(count: number): number {
    return this.isProof ? 1 : count;
  }

  /** Starts a program at the first call. */
  server(start: Start): Promise<Server> {
    return this.once(start, () => start(this));
  }

  /** Starts a module of `bench`. */
  start(module: string, variables: Variables = {}, way: Way = 'measured'): Promise<Server> {
    const all = { ...DEFAULTS, ...variables };
    const start = async (): Promise<Server> => this.programs.use(await Server.start(module, all, way));
    if (!this.isProof) return start();
    return this.once(JSON.stringify([module, all, way]), async () => {
      const program = `${module} ${way}`;
      const isRunning = this.started.has(program);
      const first = await this.once(program, start);
      return isRunning ? first.repeat(all) : first;
    });
  }

  /** Writes a file that a program reads; resolves with its path. */
  file(content: string): Promise<string> {
    return this.once(content, async () => {
      const path = join(await this.folder(), 'file.json');
      await writeFile(path, content);
      return path;
    });
  }

  /**
   * Creates an empty state; resolves with the variables that make a service use it. PostgreSQL and Redis do not wait for the disk, so
   * that the service is measured; SQLite does, as in production.
   */
  async state(STATE: (typeof STATES)[number]): Promise<Variables> {
    if (STATE === 'memory') return { STATE };
    if (STATE === 'sqlite') return { STATE, STATE_DIR: await this.folder() };
    if (STATE === 'redis') return { STATE, REDIS_URL: await this.redis() };
    this.databases ??= this.resources.use(await Databases.start());
    return { STATE, DATABASE_URL: await this.databases.create() };
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
    await using _resources = this.resources;
    await this.programs.disposeAsync();
  }

  /** Makes something at the first call for a key, by which it is known. */
  once<Value>(key: unknown, make: () => Promise<Value>): Promise<Value> {
    const value = this.started.get(key) ?? make();
    this.started.set(key, value);
    return value as Promise<Value>;
  }

  private async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
    this.resources.defer(() => rm(folder, { recursive: true }));
    return folder;
  }

  private async redis(): Promise<string> {
    const { findRedis, startRedis } = await importRedis();
    if (findRedis() !== undefined) return this.resources.use(await startRedis()).url;
    throw new Missing('nothing is measured with Redis, since there is no redis-server on PATH');
  }
}

/** Runs a case: starts its programs, and compares them row by row. A row is left out, with a line on stderr, where the machine lacks a server. */
export async function runCase(one: Case, bench: Bench): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = [];
  const missing = new Set<string>();
  for (const row of one.rows(bench.sizes)) {
    try {
      comparisons.push({ name: row.name, figures: await runRow(one, row, bench), goals: row.goals ?? [] });
    } catch (error) {
      // The error of a connection does not say whose it was.
      if (!(error instanceof Missing)) throw new Error(`${row.name} has failed`, { cause: error });
      missing.add(error.message);
    }
  }
  for (const what of missing) process.stderr.write(`SKIPPED: ${what}\n`);
  return comparisons;
}

/** Runs the sides in alternating rounds, so that disturbances affect all of them. */
async function runRow(one: Case, row: Row, bench: Bench): Promise<readonly Figure[]> {
  const sides: Partial<Record<Side, () => Promise<Sample>>> = {};
  for (const side of SIDES) {
    const start = (row.sides ?? one.sides)?.[side];
    const load = typeof row.load === 'object' ? row.load[side] : row.load;
    if (start === undefined || load === undefined) continue;
    if (one.isAnew === true) {
      sides[side] = () => runAnew(one, start, load, bench);
    } else {
      const server = await bench.server(start);
      // In a proof, cases share their servers.
      await bench.once(`${one.name} ${server.origin}`, async () => one.prepare?.(server, bench, side));
      sides[side] = () => load(server, bench);
    }
  }
  const { rounds, longRounds, warmUps } = bench.sizes;
  const measured = one.rounds === 'few' ? longRounds : (one.rounds ?? rounds);
  const all: Round[] = [];
  for (let index = -Math.min(warmUps, one.warmUps ?? warmUps); index < measured; index++) {
    const round: Partial<Record<Side, Sample>> = {};
    for (const side of SIDES) {
      const sample = await sides[side]?.();
      if (sample !== undefined) round[side] = sample;
    }
    if (index >= 0) all.push(round);
  }
  return toFigures(all);
}

/** A round that starts its program anew; in a proof, all rounds of the case have one. */
async function runAnew(one: Case, start: Start, load: Load, bench: Bench): Promise<Sample> {
  if (bench.isProof) {
    const inner = await bench.once(one, async () => bench.inner());
    return await load(await inner.server(start), inner);
  }
  await using inner = new Bench(bench.sizes);
  return await load(await inner.server(start), inner);
}
