import type { TimedOutcome } from '../load/job.ts';
import { compare, type Contest, type Sample } from '../measure.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { FRAMING_EVENTS } from '../traffic.ts';
import type { UpstreamTraffic } from '../upstream-traffic.ts';
import type { Sizes } from './benchmark-case.ts';
import { startRelay, startServiceBefore, startUpstream } from './programs.ts';
import type { UpstreamKind } from './upstream-kinds.ts';

/** Mean time between two deltas of a paced stream, ms: about the speed of a fast model. */
const GAP_MS = 10;

/** Deltas of a paced answer at most: enough that they outweigh the beginning of a turn. */
const MOST_PACED_DELTAS = 64;

/** The figures with goals. */
export const FIRST_DELTA = 'time to first delta, p50, ms';
export const THROUGHPUT = 'deltas per second';
export const CPU_PER_DELTA = 'server CPU per delta, µs';

/** The upstream, the servers in front of it, and the load generator. */
export interface RelaySetting {
  readonly kind: UpstreamKind;
  readonly upstream: Server;
  readonly service: Server;
  readonly floor: Server;
  readonly load: LoadGenerator;
}

/** Runs a case with these processes and stops them afterwards. */
export async function withRelay<Result>(
  kind: UpstreamKind,
  run: (setting: RelaySetting) => Promise<Result>,
): Promise<Result> {
  await using upstream = await startUpstream();
  await using service = await startServiceBefore(upstream, kind.provider);
  await using floor = await startRelay(upstream, kind.relay);
  await using load = new LoadGenerator();
  return await run({ kind, upstream, service, floor, load });
}

/** The traffic of a round. */
export interface RelayedTraffic {
  readonly traffic: UpstreamTraffic;
  readonly streams: number;
  /** Measured turns per round. */
  readonly turns: number;
  /** Time over which the start of streams is spread, ms. */
  readonly spreadMs: number;
  /** Whether incomplete answers are allowed. */
  readonly mayBreak?: boolean;
}

/** The outcome of one round, and the cost of the requested server. */
export interface Cost extends TimedOutcome {
  readonly cpuMicroseconds: number;
}

/** Short answers at full speed, until V8 has compiled what a turn runs. */
export async function warmUp(setting: RelaySetting, turns: number): Promise<void> {
  const relayed = { traffic: { deltas: 10, burst: 1, gapMs: 0 }, streams: 32, turns, spreadMs: 0 };
  await compare(compareThroughput(setting, relayed), { rounds: 0, warmUps: 1 });
}

/** Streams with a delta each 10 ms. Their starts are spread over one answer, so that requests do not coincide. */
export function toPacedStreams(streams: number, turns: number, { deltas }: Sizes): RelayedTraffic {
  const traffic = { deltas: Math.min(deltas, MOST_PACED_DELTAS), burst: 1, gapMs: GAP_MS };
  return { traffic, streams, turns, spreadMs: traffic.deltas * GAP_MS };
}

/** Rounds that measure latency. Only meaningful while no process is saturated. */
export function compareLatency(setting: RelaySetting, relayed: RelayedTraffic): Contest {
  const toTimes = ({ firstDelta, delay }: Cost): Sample => ({
    [FIRST_DELTA]: firstDelta.p50,
    'time to first delta, p99, ms': firstDelta.p99,
    'delay of a delta, p50, ms': delay.p50,
    'delay of a delta, p99, ms': delay.p99,
  });
  return toContest(setting, relayed, toTimes, ({ turns, seconds, cpuMicroseconds }) => ({
    'server CPU per turn, µs': cpuMicroseconds / turns,
    [CPU_PER_DELTA]: cpuMicroseconds / (turns * relayed.traffic.deltas),
    'server cores in use': cpuMicroseconds / 1e6 / seconds,
  }));
}

/** Rounds that measure throughput. */
export function compareThroughput(setting: RelaySetting, relayed: RelayedTraffic): Contest {
  const { deltas } = relayed.traffic;
  const toTimes = ({ whole }: Cost): Sample => ({
    'time per delta of a stream, p50, µs': (whole.p50 * 1000) / deltas,
    'time per delta of a stream, p99, µs': (whole.p99 * 1000) / deltas,
  });
  return toContest(setting, relayed, toTimes, ({ turns, frames, bytes, seconds, cpuMicroseconds }) => ({
    [THROUGHPUT]: (turns * deltas) / seconds,
    [CPU_PER_DELTA]: cpuMicroseconds / (turns * deltas),
    // Below one, the upstream, the load generator or the machine limits the throughput.
    'server cores in use': cpuMicroseconds / 1e6 / seconds,
    'bytes per event': bytes / frames,
  }));
}

/** The three sides of one comparison. The upstream has latencies only. */
function toContest(
  setting: RelaySetting,
  relayed: RelayedTraffic,
  toTimes: (cost: Cost) => Sample,
  toCosts: (cost: Cost) => Sample,
): Contest {
  const run = async (server: Server): Promise<Sample> => {
    const cost = await runRelayed(server, setting, relayed);
    return { ...toTimes(cost), ...toCosts(cost) };
  };
  return {
    service: () => run(setting.service),
    floor: () => run(setting.floor),
    direct: async () => toTimes(await runRelayed(setting.upstream, setting, relayed)),
  };
}

/** Streams from one server; returns the outcome and the cost. Throws an Error if a frame is missing. */
export async function runRelayed(server: Server, setting: RelaySetting, relayed: RelayedTraffic): Promise<Cost> {
  const { traffic, ...job } = relayed;
  const isDirect = server === setting.upstream;
  const { direct, toBody } = setting.kind;
  const [path, body] = isDirect ? [direct.path, direct.toBody(traffic)] : ['/v1/responses', toBody(traffic)];
  const cpuBefore = await server.cpuMicroseconds();
  const url = server.origin + path;
  const outcome = await setting.load.run({ type: 'timed', url, body, deltas: traffic.deltas, ...job });
  const cpuMicroseconds = (await server.cpuMicroseconds()) - cpuBefore;
  const expected = outcome.turns * (traffic.deltas + (isDirect ? direct.framing : FRAMING_EVENTS + 1));
  if (outcome.frames !== expected)
    throw new Error(`${outcome.frames} frames came in ${outcome.turns} turns, not ${expected}`);
  return { ...outcome, cpuMicroseconds };
}
