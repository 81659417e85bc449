import { compare } from '../measure.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import {
  compareLatency,
  compareThroughput,
  FIRST_DELTA,
  type RelayedTraffic,
  type RelaySetting,
  THROUGHPUT,
  withRelay,
} from './relayed-streams.ts';

/** Streams that run side by side. */
const STREAMS = [1, 32, 256] as const;

/** Short answers at a model's own pace, by the number of streams: the more there are, the slower, so that nobody is busy. */
const PACED = {
  1: { deltas: 4, burst: 1, gapMs: 1 },
  32: { deltas: 20, burst: 1, gapMs: 10 },
  256: { deltas: 20, burst: 1, gapMs: 80 },
};

/** What the service may add to the wait for an answer, and which share of the relay's throughput is left. */
const PACED_GOALS: readonly Goal[] = [{ figure: FIRST_DELTA, of: 'added', atMost: 1 }];
const FLAT_OUT_GOALS: readonly Goal[] = [{ figure: THROUGHPUT, of: 'ratio', atLeast: 0.6 }];

/** Short answers as fast as they come, until what serves a request is compiled. */
const WARM_UP = { traffic: { deltas: 10, burst: 1, gapMs: 0 }, streams: 32, spreadMs: 0 };

/**
 * What the service costs between a client and its upstream: how long clients wait while a model writes at its own pace, and how
 * much passes when it writes as fast as it can. The floor is a bare relay; both are compared with asking the upstream itself.
 */
export const relayCase: BenchmarkCase = {
  name: 'relay',
  run: (sizes: Sizes) => withRelay((setting) => compareRelays(setting, sizes)),
};

async function compareRelays(setting: RelaySetting, sizes: Sizes): Promise<readonly Comparison[]> {
  await compare(compareThroughput(setting, { ...WARM_UP, turns: 10 * sizes.requests }), { rounds: 0, warmUps: 1 });
  const rounds = { rounds: sizes.longRounds, warmUps: 0 };
  const comparisons: Comparison[] = [];
  const counts = STREAMS.filter((one) => one <= sizes.mostStreams);
  for (const streams of counts) {
    const figures = await compare(compareLatency(setting, toPaced(streams, sizes)), rounds);
    comparisons.push({ name: `relay, paced, ${streams} at once`, figures, goals: PACED_GOALS });
  }
  for (const streams of counts) {
    const figures = await compare(compareThroughput(setting, toFlatOut(streams, sizes)), rounds);
    comparisons.push({ name: `relay, flat out, ${streams} at once`, figures, goals: FLAT_OUT_GOALS });
  }
  return comparisons;
}

/** Streams begin one after the other over the time of one answer, so that neither requests nor deltas come all at once. */
function toPaced(streams: keyof typeof PACED, sizes: Sizes): RelayedTraffic {
  const traffic = { ...PACED[streams], deltas: Math.min(PACED[streams].deltas, sizes.deltas) };
  return { traffic, streams, turns: sizes.requests, spreadMs: traffic.deltas * traffic.gapMs };
}

function toFlatOut(streams: number, { deltas, requests }: Sizes): RelayedTraffic {
  return { traffic: { deltas, burst: 1, gapMs: 0 }, streams, turns: Math.max(requests, streams), spreadMs: 0 };
}
