import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';

import OpenAI from 'openai';

import { importCluster, importRedis } from '../../bench/harness/test-servers.ts';
import type { SeededRandom } from '../../src/simulator/seeded-random.ts';
import { onStablePort } from '../../test/support/ports.ts';
import { OwnService } from '../own-service.ts';
import { LONGEST_OUTAGE_MS, within } from './insist.ts';
import type { Ledger } from './ledger.ts';
import type { State } from './options.ts';

/** A server of a database that can be killed. What was committed survives it. */
interface Server extends AsyncDisposable {
  readonly environment: Readonly<Record<string, string>>;
  kill(): Promise<void>;
  resume(): Promise<void>;
}

/** A process of the service and its address, which its successors take over. */
interface Replica {
  readonly port: number;
  readonly client: OpenAI;
  /** Undefined while it is dead. */
  service: OwnService | undefined;
}

/** What a fleet is made of. */
export interface FleetOptions {
  readonly state: State;
  readonly environment: Readonly<Record<string, string>>;
  readonly ledger: Ledger;
  readonly random: SeededRandom;
  readonly log: Writable;
}

/** What is done to a fleet. */
type Strike = 'SIGKILL' | 'SIGTERM' | 'SIGKILL of all' | 'database' | 'database and SIGKILL';
const ON_FILE: readonly Strike[] = ['SIGKILL', 'SIGTERM'];
const ON_SERVER: readonly Strike[] = [...ON_FILE, 'SIGKILL of all', 'database', 'database and SIGKILL'];

/** The service as the processes that its state allows, and its database; all of them are killed again and again. */
export class Fleet implements AsyncDisposable {
  /** How often something was done, by what. */
  readonly strikes = new Map<Strike, number>();
  private readonly options: FleetOptions;
  private readonly server: Server;
  private readonly replicas: Replica[] = [];
  /** What is done next, from the last to the first. */
  private next: Strike[] = [];
  private striking: Promise<void> = Promise.resolve();
  private isOver = false;
  /** Resolves when a process serves again. */
  private served = Promise.withResolvers<undefined>();

  private constructor(options: FleetOptions, server: Server) {
    this.options = options;
    this.server = server;
  }

  /** Starts the database and the processes. Throws when one of them does not start. */
  static async start(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options, await startServer(options.state));
    try {
      const count = options.state === 'sqlite' ? 1 : 2;
      await Promise.all(Array.from({ length: count }, () => fleet.add()));
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Where the processes serve. */
  get addresses(): readonly string[] {
    return this.replicas.map(({ client }) => client.baseURL);
  }

  /** The clients of all processes, in the order of `addresses`. */
  get clients(): readonly OpenAI[] {
    return this.replicas.map(({ client }) => client);
  }

  /** What was killed altogether. */
  get kills(): number {
    return [...this.strikes.values()].reduce((sum, count) => sum + count, 0);
  }

  /** A client of a process that serves. Waits while there is none. */
  async pick(random: SeededRandom): Promise<OpenAI> {
    for (;;) {
      const alive = this.replicas.filter(({ service }) => service !== undefined);
      if (alive.length > 0) return random.pick(alive).client;
      await this.served.promise;
    }
  }

  /** Kills something, and starts it again. Resolves when all processes serve. One at a time. */
  strike(): Promise<void> {
    this.striking = this.strikeNext();
    return this.striking;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isOver = true;
    // What is being started could not be ended.
    await this.striking.catch(() => undefined);
    await Promise.all(this.replicas.map((replica) => this.end(replica, 'SIGKILL')));
    await this.server[Symbol.asyncDispose]();
  }

  private async strikeNext(): Promise<void> {
    const { random, state } = this.options;
    // All of them once, before one comes again.
    if (this.next.length === 0) this.next = random.shuffle(state === 'sqlite' ? ON_FILE : ON_SERVER);
    const strike = this.next.pop() as Strike;
    const one = random.pick(this.replicas);
    const victims = strike === 'SIGKILL of all' ? this.replicas : strike === 'database' ? [] : [one];
    const hitsServer = strike.startsWith('database');
    await Promise.all([
      hitsServer ? this.server.kill() : undefined,
      ...victims.map((victim) => this.end(victim, strike === 'SIGTERM' ? 'SIGTERM' : 'SIGKILL')),
    ]);
    if (hitsServer) await this.server.resume();
    await Promise.all(victims.map((victim) => this.serve(victim)));
    this.strikes.set(strike, (this.strikes.get(strike) ?? 0) + 1);
  }

  private async add(): Promise<void> {
    const { ledger } = this.options;
    const [port, service] = await onStablePort(async (free) => [free, await this.run(free)] as const);
    ledger.acknowledge('service');
    const baseURL = `http://127.0.0.1:${port}/v1`;
    // Each failed attempt is counted, so that a client of the SDK makes one.
    const client = new OpenAI({ apiKey: 'unused', baseURL, maxRetries: 0, timeout: LONGEST_OUTAGE_MS });
    const replica: Replica = { port, client, service };
    this.replicas.push(replica);
    this.watch(replica, service);
  }

  private async end(replica: Replica, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { service } = replica;
    replica.service = undefined;
    const status = await service?.end(signal);
    if (status === signal || status === 0 || status === undefined) return;
    this.options.ledger.report('service', 'lost', `port ${replica.port}`, `ended with ${status} after ${signal}`);
  }

  /** Starts a process anew, again until it serves. */
  private async serve(replica: Replica): Promise<void> {
    const { ledger } = this.options;
    for (;;) {
      try {
        const service = await within('a start', this.run(replica.port));
        ledger.acknowledge('service');
        replica.service = service;
        this.watch(replica, service);
        this.served.resolve(undefined);
        this.served = Promise.withResolvers();
        return;
      } catch (error) {
        if (this.isOver) return;
        ledger.report('service', 'refused starts', `start ${ledger.countOf('service')}`, String(error));
      }
    }
  }

  private run(port: number): Promise<OwnService> {
    const environment = { ...this.options.environment, ...this.server.environment, PORT: String(port) };
    return OwnService.start(environment, this.options.log);
  }

  /** Starts a process again that ends by itself, which it must not. */
  private watch(replica: Replica, service: OwnService): void {
    void service.ended.then(async (status) => {
      if (replica.service !== service || this.isOver) return;
      replica.service = undefined;
      this.options.ledger.report('service', 'lost', `port ${replica.port}`, `ended by itself with ${status}`);
      await this.serve(replica);
    });
  }
}

async function startServer(state: State): Promise<Server> {
  switch (state) {
    case 'sqlite': {
      const directory = await mkdtemp(join(tmpdir(), 'antiphon-chaos-'));
      const nothing = async (): Promise<void> => undefined;
      return {
        environment: { STATE: state, STATE_DIR: directory },
        kill: nothing,
        resume: nothing,
        [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
      };
    }
    case 'postgres': {
      const cluster = await (await importCluster()).startCluster();
      return {
        environment: { STATE: state, DATABASE_URL: cluster.url() },
        kill: () => cluster.kill(),
        resume: () => cluster.resume(),
        [Symbol.asyncDispose]: () => cluster.stop(),
      };
    }
    case 'redis': {
      const redis = await (await importRedis()).startRedis('--appendonly', 'yes', '--appendfsync', 'always');
      return {
        environment: { STATE: state, REDIS_URL: redis.url },
        kill: () => redis.crash(),
        resume: () => redis.resume(),
        [Symbol.asyncDispose]: () => redis.stop(),
      };
    }
  }
}
