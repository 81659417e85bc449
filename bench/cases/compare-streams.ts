import type { StreamedOutcome } from '../load/job.ts';
import { compare, type Figure, type Sample } from '../measure.ts';
import type { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { FRAMING_EVENTS, toRequestBody, type Traffic } from '../traffic.ts';
import type { Sizes } from './benchmark-case.ts';

/** The figure with goals. */
export const CPU_PER_EVENT = 'server CPU per event, µs';

/** Transport of the streams. */
export type Transport = 'sse' | 'ws';

/** The servers to compare. */
export interface StreamSides {
  readonly transport: Transport;
  readonly service: Server;
  readonly floor: Server;
  /** A floor with the full functionality of a turn. */
  readonly honest?: Server;
  /** A floor that writes precomputed bytes. */
  readonly precomputed?: Server;
  readonly load: LoadGenerator;
}

/** The servers and their traffic. */
export interface StreamContest extends StreamSides {
  readonly model: string;
  readonly traffic: Traffic;
}

/** Compares the servers by rounds of streams. Throws an Error if the number of events is wrong. */
export function compareStreams(contest: StreamContest, sizes: Sizes): Promise<readonly Figure[]> {
  const { service, floor, honest, precomputed } = contest;
  const run = (server: Server) => () => runRound(server, contest, sizes);
  const sides = {
    service: run(service),
    floor: run(floor),
    ...(honest && { honest: run(honest) }),
    ...(precomputed && { precomputed: run(precomputed) }),
  };
  return compare(sides, sizes);
}

async function runRound(server: Server, contest: StreamContest, sizes: Sizes): Promise<Sample> {
  const { deltas } = contest.traffic;
  const cpuBefore = await server.cpuMicroseconds();
  const { turns, events, bytes, seconds } = await stream(server, contest, sizes);
  const cpu = (await server.cpuMicroseconds()) - cpuBefore;
  const expected = turns * (deltas + FRAMING_EVENTS);
  if (events !== expected) throw new Error(`${events} events came in ${turns} turns, not ${expected}`);
  return {
    [CPU_PER_EVENT]: cpu / events,
    'events per second': events / seconds,
    'turns per second': turns / seconds,
    // Below one, the load generator or the machine limits the throughput.
    'server cores in use': cpu / 1e6 / seconds,
    'bytes per event': bytes / events,
  };
}

function stream(server: Server, contest: StreamContest, sizes: Sizes): Promise<StreamedOutcome> {
  const { transport, load, model, traffic } = contest;
  const { streams, turnsPerStream } = sizes;
  const path = '/v1/responses';
  const body = toRequestBody(model, traffic);
  if (transport === 'sse') return load.run({ type: 'sse', url: server.origin + path, body, streams, turnsPerStream });
  const sockets = { sockets: streams, turnsPerSocket: turnsPerStream, isConcurrent: true };
  return load.run({ type: 'socket', url: server.socketOrigin + path, body, predecessor: 'none', ...sockets });
}
