import { compare } from '../measure.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import {
  compareLatency,
  compareThroughput,
  FIRST_DELTA,
  type RelayedTraffic,
  type RelaySetting,
  THROUGHPUT,
  warmUp,
  withRelay,
} from './relayed-streams.ts';
import { CHAT_COMPLETIONS, RESPONSES_OVER_SSE, RESPONSES_OVER_WEBSOCKET } from './upstream-kinds.ts';

/** Concurrent streams. */
const STREAMS = [1, 32, 256] as const;

/** Short answers at the pace of a model, by number of streams: more streams are slower, so that no process is saturated. */
const PACED = {
  1: { deltas: 4, burst: 1, gapMs: 1 },
  32: { deltas: 20, burst: 1, gapMs: 10 },
  256: { deltas: 20, burst: 1, gapMs: 80 },
};

/** Goals for the added latency, and for the throughput relative to the relay. */
const PACED_GOALS: readonly Goal[] = [{ figure: FIRST_DELTA, of: 'added', atMost: 1 }];
const FLAT_OUT_GOALS: readonly Goal[] = [{ figure: THROUGHPUT, of: 'ratio', atLeast: 0.6 }];

/** Turns before the first round, for each request of a round. */
const WARM_UP_TURNS = 10;

/** Names of the comparisons by upstream. */
const RESPONSES = [
  ['responses over SSE', RESPONSES_OVER_SSE],
  ['responses over WebSocket', RESPONSES_OVER_WEBSOCKET],
] as const;

/**
 * The cost of the service between a client and its upstream: latency while a model writes at its own pace, and throughput at full
 * speed. The floor is a bare relay; both are compared with direct requests to the upstream.
 */
export const relayCase: BenchmarkCase = {
  name: 'relay',
  run: (sizes: Sizes) => withRelay(CHAT_COMPLETIONS, (setting) => compareRelays('relay', setting, sizes)),
};

/** The same before an upstream with the Responses API, over SSE and over WebSocket. Direct requests go over SSE in both. */
export const responsesRelayCase: BenchmarkCase = {
  name: 'responses-relay',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    const comparisons: Comparison[] = [];
    for (const [name, kind] of RESPONSES)
      comparisons.push(...(await withRelay(kind, (setting) => compareRelays(name, setting, sizes))));
    return comparisons;
  },
};

async function compareRelays(name: string, setting: RelaySetting, sizes: Sizes): Promise<readonly Comparison[]> {
  await warmUp(setting, WARM_UP_TURNS * sizes.requests);
  const rounds = { rounds: sizes.longRounds, warmUps: 0 };
  const comparisons: Comparison[] = [];
  const counts = STREAMS.filter((one) => one <= sizes.mostStreams);
  for (const streams of counts) {
    const figures = await compare(compareLatency(setting, toPaced(streams, sizes)), rounds);
    comparisons.push({ name: `${name}, paced, ${streams} at once`, figures, goals: PACED_GOALS });
  }
  for (const streams of counts) {
    const figures = await compare(compareThroughput(setting, toFlatOut(streams, sizes)), rounds);
    comparisons.push({ name: `${name}, flat out, ${streams} at once`, figures, goals: FLAT_OUT_GOALS });
  }
  return comparisons;
}

/** Spreads the start of streams over the duration of one answer, so that requests and deltas do not coincide. */
function toPaced(streams: keyof typeof PACED, sizes: Sizes): RelayedTraffic {
  const traffic = { ...PACED[streams], deltas: Math.min(PACED[streams].deltas, sizes.deltas) };
  return { traffic, streams, turns: sizes.requests, spreadMs: traffic.deltas * traffic.gapMs };
}

function toFlatOut(streams: number, { deltas, requests }: Sizes): RelayedTraffic {
  return { traffic: { deltas, burst: 1, gapMs: 0 }, streams, turns: Math.max(requests, streams), spreadMs: 0 };
}
