import { LoadGenerator } from '../processes/load-generator.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { compareShapes, type Shape } from './compare-shapes.ts';
import { startFloor, startService } from './programs.ts';

const SHAPES: readonly Shape[] = [
  { name: 'single', burst: 1, floor: 1.6, honest: 1.4 },
  { name: 'burst', burst: 8, floor: 1.3, honest: 1.4 },
  { name: 'short turn', burst: 8, deltas: 8, floor: 2, honest: 1.8 },
];

/** A turn over WebSocket, on open sockets. Each turn begins a chain. */
export const wsCase: BenchmarkCase = {
  name: 'ws',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startService({ WS_MAX_CONNECTIONS: String(sizes.streams) });
    await using floor = await startFloor('ws-floor');
    await using honest = await startFloor('honest-ws');
    await using precomputed = await startFloor('ws-precomputed');
    await using load = new LoadGenerator();
    return await compareShapes({ transport: 'ws', service, floor, honest, precomputed, load }, SHAPES, sizes);
  },
};
