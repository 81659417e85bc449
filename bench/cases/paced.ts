import { compare } from '../measure.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { compareLatency, compareThroughput, CPU_PER_DELTA, FIRST_DELTA, withRelay } from './relayed-streams.ts';
import { CHAT_COMPLETIONS } from './upstream-kinds.ts';

/** Concurrent streams. */
const STREAMS = [1, 32, 128, 512];

/** Mean time between two deltas of a stream, ms: about the speed of a fast model. */
const GAP_MS = 10;

/** Deltas of an answer at most: enough that they outweigh the beginning of a turn. */
const MOST_DELTAS = 64;

/** Answers per stream and round, as long as no more than the requests of a round are needed. */
const TURNS_PER_STREAM = 10;

/** Turns before the first round, for each request of a round. V8 compiles what a turn runs for some thousand turns. */
const WARM_UP_TURNS = 100;

const GOALS: readonly Goal[] = [
  { figure: CPU_PER_DELTA, of: 'ratio', atMost: 1.25 },
  { figure: FIRST_DELTA, of: 'difference', atMost: 0.4 },
];

/**
 * Streams with a delta each 10 ms however many there are, so that the CPU of a delta includes that of waking up for it. `relay` has
 * slower deltas for more streams, because it measures delays only.
 */
export const pacedCase: BenchmarkCase = {
  name: 'paced',
  run: (sizes: Sizes) =>
    withRelay(CHAT_COMPLETIONS, async (setting) => {
      const warmUp = { traffic: { deltas: 10, burst: 1, gapMs: 0 }, streams: 32, spreadMs: 0 };
      const warmUpTurns = WARM_UP_TURNS * sizes.requests;
      await compare(compareThroughput(setting, { ...warmUp, turns: warmUpTurns }), { rounds: 0, warmUps: 1 });
      const rounds = { rounds: sizes.longRounds, warmUps: Math.min(1, sizes.warmUps) };
      const comparisons: Comparison[] = [];
      for (const streams of STREAMS.filter((one) => one <= sizes.pacedStreams)) {
        const traffic = { deltas: Math.min(sizes.deltas, MOST_DELTAS), burst: 1, gapMs: GAP_MS };
        const turns = Math.max(streams, Math.min(sizes.requests, TURNS_PER_STREAM * streams));
        // Starts are spread over one answer, so that requests do not coincide.
        const relayed = { traffic, streams, turns, spreadMs: traffic.deltas * GAP_MS };
        const figures = await compare(compareLatency(setting, relayed), rounds);
        comparisons.push({ name: `paced, ${streams} at once`, figures, goals: GOALS });
      }
      return comparisons;
    }),
};
