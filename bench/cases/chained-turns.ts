import type { Sample } from '../measure.ts';
import type { SocketJob, SocketOutcome } from '../load/job.ts';
import type { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { toRequestBody } from '../traffic.ts';
import type { Sizes } from './benchmark-case.ts';

/** The figure with goals. */
export const CPU_PER_TURN = 'server CPU per turn, µs';

/** A short answer, so that the turn dominates rather than its text. */
const TRAFFIC = { deltas: 8, burst: 8 };

/** Sockets that continue the chain, each by a few turns. */
const SOCKETS = 16;

/** Restarts per round, so that the measured turns stay near the given position. */
const BEGINNINGS = 4;

/** Turns over HTTP per round. They are slower, so fewer are enough to measure. */
const HTTP_TURNS = 16;

/** Servers and counts of the turns. */
export interface ChainSetting {
  readonly service: Server;
  readonly load: LoadGenerator;
  /** Whether the service reports them: with PostgreSQL. */
  readonly countsRoundTrips: boolean;
  readonly sizes: Sizes;
}

/** The cost of turns. */
interface Cost {
  readonly turns: number;
  readonly seconds: number;
  readonly cpuMicroseconds: number;
  readonly roundTrips: number;
}

/** Rounds of turns at given positions of one stored chain. Turns run one at a time, so that latencies are independent. */
export class ChainedTurns {
  private readonly setting: ChainSetting;
  /** The chain's responses, oldest first. */
  private responseIds: readonly string[] = [];

  private constructor(setting: ChainSetting) {
    this.setting = setting;
  }

  /** Creates the chain that the rounds continue. */
  static async prepare(setting: ChainSetting, length: number): Promise<ChainedTurns> {
    const chain = new ChainedTurns(setting);
    const root = await chain.converse({ predecessor: 'none', sockets: 1, turnsPerSocket: 1 });
    const others = { predecessor: 'the one before', sockets: 1, turnsPerSocket: length - 1 } as const;
    chain.responseIds = [...root.responseIds, ...(await chain.converse(others)).responseIds];
    return chain;
  }

  /** Repeats the given turn over HTTP, by `previous_response_id`. */
  readonly http = async (turn: number): Promise<Sample> => {
    const { service, load, sizes } = this.setting;
    const turns = HTTP_TURNS * sizes.turnsPerStream;
    const body = toRequestBody('bench', TRAFFIC, this.responseIds[turn - 2]);
    const job = {
      type: 'sse',
      url: `${service.origin}/v1/responses`,
      body,
      streams: 1,
      turnsPerStream: turns,
    } as const;
    return this.toSample([await this.measure(turns, () => load.run(job))]);
  };

  /** Makes the given turn and a few after it, on sockets that have just made the turn before it. */
  readonly socket = async (turn: number): Promise<Sample> => {
    const turnsPerSocket = this.setting.sizes.turnsPerStream;
    const responseId = this.responseIds[turn - 3];
    const start = { predecessor: responseId === undefined ? 'none' : { responseId }, sockets: SOCKETS } as const;
    const turns = { predecessor: turn === 1 ? 'none' : 'the one before', sockets: SOCKETS, turnsPerSocket } as const;
    const costs: Cost[] = [];
    for (let beginning = 0; beginning < BEGINNINGS; beginning++) {
      await this.converse({ ...start, turnsPerSocket: 1 });
      costs.push(await this.measure(SOCKETS * turnsPerSocket, () => this.converse(turns)));
    }
    return this.toSample(costs);
  };

  private converse(job: Pick<SocketJob, 'predecessor' | 'sockets' | 'turnsPerSocket'>): Promise<SocketOutcome> {
    const { service, load } = this.setting;
    const url = `${service.socketOrigin}/v1/responses`;
    return load.run({ type: 'socket', url, body: toRequestBody('bench', TRAFFIC), ...job });
  }

  private async measure(turns: number, run: () => Promise<{ readonly seconds: number }>): Promise<Cost> {
    const { service } = this.setting;
    const roundTripsBefore = await service.roundTrips();
    const cpuBefore = await service.cpuMicroseconds();
    const { seconds } = await run();
    const cpuMicroseconds = (await service.cpuMicroseconds()) - cpuBefore;
    return { turns, seconds, cpuMicroseconds, roundTrips: (await service.roundTrips()) - roundTripsBefore };
  }

  private toSample(costs: readonly Cost[]): Sample {
    const sum = (member: keyof Cost): number => costs.reduce((total, cost) => total + cost[member], 0);
    const turns = sum('turns');
    return {
      [CPU_PER_TURN]: sum('cpuMicroseconds') / turns,
      'latency of a turn, ms': (sum('seconds') * 1000) / turns,
      ...(this.setting.countsRoundTrips ? { 'database round trips per turn': sum('roundTrips') / turns } : {}),
    };
  }
}
