import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { type Sample, toFigures } from '../measure.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { startService } from './programs.ts';

/** Few enough that the store is full before the first half, so that stored responses do not count as a leak. */
const MEMORY_MAX_RESPONSES = '500';

const HEAP = 'memory in use, MB';

/**
 * In ten minutes, about 100,000 turns lie between the middles of the two halves. A twentieth of the heap is then about 40 bytes
 * per turn, less than any object that could leak. Ongoing compilation takes about as much.
 */
const GOALS: readonly Goal[] = [{ figure: HEAP, of: 'ratio', atMost: 1.05 }];

/**
 * Memory growth after garbage collection, under a mix of streams, chains, sockets, disconnects and invalid requests. The
 * floor is the first half of the same run, the service its second half.
 */
export const soakCase: BenchmarkCase = {
  name: 'soak',
  async run({ soakSeconds, rounds: looks }: Sizes): Promise<readonly Comparison[]> {
    await using service = await startService({ MEMORY_MAX_RESPONSES });
    await using load = new LoadGenerator();
    // Warm-up, until code is compiled and pools and caches are full.
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
