import type { Outcome } from '../load/job.ts';
import type { Sample } from '../measure.ts';
import type { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { toJsonRequestBody, toRequestBody } from '../traffic.ts';
import type { Sizes } from './benchmark-case.ts';
import { CPU_PER_TURN } from './chained-turns.ts';

/** A short answer, so that the turn and its save dominate rather than its text. */
const TRAFFIC = { deltas: 8, burst: 8 };

/** Sockets that make a few turns each. */
const SOCKETS = 16;

/** Connections that save at once. */
const CONNECTIONS = 32;

/** Rounds of stored turns over one service, whose model costs nothing. */
export class StoredTurns {
  private readonly service: Server;
  private readonly load: LoadGenerator;
  private readonly sizes: Sizes;

  constructor(service: Server, load: LoadGenerator, sizes: Sizes) {
    this.service = service;
    this.load = load;
    this.sizes = sizes;
  }

  /** Turns over HTTP, one after the other, each without a parent. */
  readonly http = async (): Promise<Sample> => {
    const { turns, cpuMicroseconds, seconds } = await this.measure(() => this.requestJson(1, this.sizes.countedTurns));
    return { [CPU_PER_TURN]: cpuMicroseconds / turns, 'latency of a turn, ms': (seconds * 1000) / turns };
  };

  /** Turns on warm sockets, one after the other, each of which continues the one before. */
  readonly socket = async (): Promise<Sample> => {
    const turnsPerSocket = Math.ceil(this.sizes.countedTurns / SOCKETS);
    await this.converse('none', 1);
    const { turns, cpuMicroseconds, seconds } = await this.measure(() =>
      this.converse('the one before', turnsPerSocket),
    );
    return { [CPU_PER_TURN]: cpuMicroseconds / turns, 'latency of a turn, ms': (seconds * 1000) / turns };
  };

  /** Turns over HTTP on many connections at once. */
  readonly together = async (): Promise<Sample> => {
    const { turns, cpuMicroseconds, seconds } = await this.measure(() =>
      this.requestJson(CONNECTIONS, this.sizes.saves),
    );
    return { 'saves per second': turns / seconds, [CPU_PER_TURN]: cpuMicroseconds / turns };
  };

  private requestJson(concurrency: number, requests: number): Promise<Outcome> {
    const url = `${this.service.origin}/v1/responses`;
    return this.load.run({ type: 'json', url, body: toJsonRequestBody('bench', TRAFFIC), concurrency, requests });
  }

  private converse(predecessor: 'none' | 'the one before', turnsPerSocket: number): Promise<Outcome> {
    const url = `${this.service.socketOrigin}/v1/responses`;
    const body = toRequestBody('bench', TRAFFIC);
    return this.load.run({ type: 'socket', url, body, predecessor, sockets: SOCKETS, turnsPerSocket });
  }

  private async measure(run: () => Promise<Outcome>): Promise<Outcome & { readonly cpuMicroseconds: number }> {
    const before = await this.service.cpuMicroseconds();
    const outcome = await run();
    return { ...outcome, cpuMicroseconds: (await this.service.cpuMicroseconds()) - before };
  }
}
