import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { type Sample, toFigures } from '../measure.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { startService } from './programs.ts';

/** So few that memory is full of them when the first half begins: what is stored on purpose is no leak. */
const MEMORY_MAX_RESPONSES = '500';

const HEAP = 'memory in use, MB';

/**
 * In ten minutes about a hundred thousand turns lie between the middles of the two halves: a twentieth of the heap is then some
 * forty bytes per turn, less than any object that could leak. Code that is still being compiled takes about as much.
 */
const GOALS: readonly Goal[] = [{ figure: HEAP, of: 'ratio', atMost: 1.05 }];

/**
 * Whether memory grows: after garbage collection, under streams, conversations, sockets, clients that leave and requests that are
 * wrong. The floor is the first half of the same run, the service its second half.
 */
export const soakCase: BenchmarkCase = {
  name: 'soak',
  async run({ soakSeconds, rounds: looks }: Sizes): Promise<readonly Comparison[]> {
    await using service = await startService({ MEMORY_MAX_RESPONSES });
    await using load = new LoadGenerator();
    // Before the halves, until everything is compiled, and pools and caches are as full as they will be.
    const warmUps = Math.ceil(looks / 2);
    const milliseconds = (soakSeconds * 1000) / (warmUps + 2 * looks);
    const samples: Sample[] = [];
    for (let look = 0; look < warmUps + 2 * looks; look++) {
      await load.run({ type: 'mixed', origin: service.origin, milliseconds });
      samples.push(await lookAt(service));
    }
    const [first, second] = [samples.slice(warmUps, -looks), samples.slice(-looks)];
    const rounds = second.map((sample, index) => ({ service: sample, floor: first[index] ?? {} }));
    return [{ name: `soak, ${soakSeconds} s, second half ÷ first half`, figures: toFigures(rounds), goals: GOALS }];
  },
};

async function lookAt(service: Server): Promise<Sample> {
  const { heapBytes, rssBytes } = await service.memory();
  return { [HEAP]: heapBytes / 1e6, 'memory of the process, MB': rssBytes / 1e6 };
}
