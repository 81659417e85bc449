import { compare } from '../measure.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { compareLatency, CPU_PER_DELTA, FIRST_DELTA, toPacedStreams, warmUp, withRelay } from './relayed-streams.ts';
import { CHAT_COMPLETIONS } from './upstream-kinds.ts';

/** Concurrent streams. */
const STREAMS = [1, 32, 128, 512];

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
      await warmUp(setting, WARM_UP_TURNS * sizes.requests);
      const rounds = { rounds: sizes.longRounds, warmUps: Math.min(1, sizes.warmUps) };
      const comparisons: Comparison[] = [];
      for (const streams of STREAMS.filter((one) => one <= sizes.pacedStreams)) {
        const turns = Math.max(streams, Math.min(sizes.requests, TURNS_PER_STREAM * streams));
        const figures = await compare(compareLatency(setting, toPacedStreams(streams, turns, sizes)), rounds);
        comparisons.push({ name: `paced, ${streams} at once`, figures, goals: GOALS });
      }
      return comparisons;
    }),
};
