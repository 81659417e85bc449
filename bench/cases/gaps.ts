import { compare, type Sample } from '../measure.ts';
import type { Server } from '../processes/server.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { type RelayedTraffic, type RelaySetting, runRelayed, withRelay } from './relayed-streams.ts';
import { CHAT_COMPLETIONS } from './upstream-kinds.ts';

/** Time between deltas of a fast model, ms. */
const GAP_MS = 20;

/** Streams whose gaps are measured: few enough that no process is saturated. */
const STREAMS = 16;

/** Numbers of streams to try in sequence, up to the size of the run. */
const LADDER = [32, 128, 512, 1024, 2048];

/** Delay after which an event counts as lost, ms. */
const LOST_AFTER_MS = 1000;

/** Gaps between deltas, and the number of streams without lost events, with a model that writes at a steady pace. */
export const gapsCase: BenchmarkCase = {
  name: 'gaps',
  run: (sizes: Sizes) => withRelay(CHAT_COMPLETIONS, (setting) => compareGaps(setting, sizes)),
};

async function compareGaps(setting: RelaySetting, sizes: Sizes): Promise<readonly Comparison[]> {
  const { upstream, service, floor } = setting;
  const gaps = (server: Server) => () => measureGaps(server, setting, sizes);
  const most = (server: Server) => () => climb(server, setting, sizes);
  const sides = { service: gaps(service), floor: gaps(floor), direct: gaps(upstream) };
  const rounds = { rounds: sizes.longRounds, warmUps: Math.min(1, sizes.warmUps) };
  return [
    { name: `gaps, ${STREAMS} at once`, figures: await compare(sides, rounds) },
    {
      name: `gaps, up to ${sizes.mostStreams} at once`,
      figures: await compare({ service: most(service), floor: most(floor) }, { ...rounds, warmUps: 0 }),
    },
  ];
}

async function measureGaps(server: Server, setting: RelaySetting, sizes: Sizes): Promise<Sample> {
  const { addedGap } = await runRelayed(server, setting, toTraffic(STREAMS, sizes));
  return { 'added gap between deltas, p99, ms': addedGap.p99 };
}

/** Increases the number of streams until an event is lost. */
async function climb(server: Server, setting: RelaySetting, sizes: Sizes): Promise<Sample> {
  let most = 1;
  for (const streams of LADDER.filter((one) => one <= sizes.mostStreams)) {
    const { delay, broken } = await runRelayed(server, setting, { ...toTraffic(streams, sizes), mayBreak: true });
    if (broken > 0 || delay.max > LOST_AFTER_MS) break;
    most = streams;
  }
  return { 'most streams without a lost event': most };
}

/** Spreads the start of streams over the duration of one answer. */
function toTraffic(streams: number, { pacedDeltas: deltas }: Sizes): RelayedTraffic {
  return { traffic: { deltas, burst: 1, gapMs: GAP_MS }, streams, turns: streams, spreadMs: deltas * GAP_MS };
}
