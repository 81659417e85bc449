import type { Outcome, StreamedOutcome } from '../load/job.ts';
import type { Sample } from '../measure.ts';
import type { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { toBackgroundRequestBody, toJsonRequestBody, toRequestBody, type Traffic } from '../traffic.ts';
import type { Sizes } from './benchmark-case.ts';
import { CPU_PER_EVENT } from './compare-streams.ts';

/** A short answer, so that the turn dominates rather than its text. */
const SHORT: Traffic = { deltas: 8, burst: 8 };

/** Deltas per turn of the event loop, when they come as fast as possible. */
const BURST = 8;

/** Pause between two deltas of a paced stream, ms: about the speed of a fast model. */
const PAUSE_MS = 10;

/** Concurrent requests for turns that are not streamed. */
const CONCURRENCY = 32;

/** Concurrent streams at most: a process runs 64 background turns at once. */
const MOST_STREAMS = 50;

/** The length of a long stream, as a multiple of the usual one. */
const LONG = 50;

/** Rounds of background turns, and of the same turns in the foreground. */
export class BackgroundRounds {
  private readonly service: Server;
  private readonly load: LoadGenerator;
  private readonly sizes: Sizes;
  private readonly url: string;

  constructor(service: Server, load: LoadGenerator, sizes: Sizes) {
    this.service = service;
    this.load = load;
    this.sizes = sizes;
    this.url = `${service.origin}/v1/responses`;
  }

  /** The times of the first events, one stream after the other. */
  async firstEvents(isBackground: boolean): Promise<Sample> {
    const { requests } = this.sizes;
    const body = toStreamBody(SHORT, isBackground);
    const outcome = await this.load.run({ type: 'first events', url: this.url, body, requests });
    return {
      'time to response.created, p50, ms': outcome.created.p50,
      'time to response.in_progress, p50, ms': outcome.inProgress.p50,
    };
  }

  /** Turns without streams, from the first request to the end of the last turn. */
  async turns(isBackground: boolean): Promise<Sample> {
    const { countedTurns: requests } = this.sizes;
    const sent = { url: this.url, concurrency: CONCURRENCY, requests };
    const cost = await this.measure<Outcome>(() =>
      isBackground
        ? this.load.run({ type: 'drain', body: toBackgroundRequestBody('bench', SHORT, false), ...sent })
        : this.load.run({ type: 'json', body: toJsonRequestBody('bench', SHORT), ...sent }),
    );
    return {
      'turns per second': requests / cost.seconds,
      'server CPU per turn, µs': cost.cpuMicroseconds / requests,
    };
  }

  /** Concurrent streams as fast as possible. */
  async flatOut(isBackground: boolean): Promise<Sample> {
    return this.streams({ deltas: this.sizes.deltas, burst: BURST }, isBackground);
  }

  /** Concurrent streams at the speed of a model. */
  async paced(isBackground: boolean): Promise<Sample> {
    return this.streams(this.slow, isBackground);
  }

  /** A long stream after its end. It is made for this round: STATE=memory forgets old responses. */
  async replay(): Promise<Sample> {
    const { responseId } = await this.stream(this.long, 1);
    const url = `${this.url}/${responseId}?stream=true&include_obfuscation=false`;
    return this.toSample(await this.measure(() => this.load.run({ type: 'sse', url, streams: 1, turnsPerStream: 1 })));
  }

  /** The same stream while it runs. */
  async live(): Promise<Sample> {
    return this.toSample(await this.measure(() => this.stream(this.long, 1)));
  }

  /** One paced stream with several readers. */
  async follow(readers: number): Promise<Sample> {
    const cost = await this.measure(() => this.stream(this.slow, readers));
    return { [CPU_PER_EVENT]: cost.cpuMicroseconds / cost.events, 'time to the end, ms': cost.seconds * 1000 };
  }

  private get long(): Traffic {
    return { deltas: this.sizes.deltas * LONG, burst: BURST };
  }

  private get slow(): Traffic {
    return { deltas: this.sizes.pacedDeltas, burst: 1, pauseMs: PAUSE_MS };
  }

  private async streams(traffic: Traffic, isBackground: boolean): Promise<Sample> {
    const streams = Math.min(this.sizes.streams, MOST_STREAMS);
    const body = toStreamBody(traffic, isBackground);
    const { turnsPerStream } = this.sizes;
    return this.toSample(
      await this.measure(() => this.load.run({ type: 'sse', url: this.url, body, streams, turnsPerStream })),
    );
  }

  private stream(traffic: Traffic, readers: number) {
    return this.load.run({ type: 'follow', url: this.url, body: toStreamBody(traffic, true), readers });
  }

  private async measure<One extends Outcome>(run: () => Promise<One>): Promise<One & { cpuMicroseconds: number }> {
    const before = await this.service.cpuMicroseconds();
    const outcome = await run();
    return { ...outcome, cpuMicroseconds: (await this.service.cpuMicroseconds()) - before };
  }

  private toSample(cost: StreamedOutcome & { readonly cpuMicroseconds: number }): Sample {
    return { [CPU_PER_EVENT]: cost.cpuMicroseconds / cost.events, 'events per second': cost.events / cost.seconds };
  }
}

function toStreamBody(traffic: Traffic, isBackground: boolean): string {
  return isBackground ? toBackgroundRequestBody('bench', traffic, true) : toRequestBody('bench', traffic);
}
