import { LoadGenerator } from '../processes/load-generator.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { compareShapes, type Shape } from './compare-shapes.ts';
import { startFloor, startService } from './programs.ts';

const SHAPES: readonly Shape[] = [
  { name: 'single', burst: 1, floor: 1.3, honest: 1.3 },
  { name: 'burst', burst: 8, floor: 1.5, honest: 1.3 },
];

/** A turn streamed over SSE, from request to last event, with a model without cost. Responses are saved. */
export const sseCase: BenchmarkCase = {
  name: 'sse',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startService();
    await using floor = await startFloor('sse-floor');
    await using honest = await startFloor('honest-http');
    await using precomputed = await startFloor('sse-precomputed');
    await using load = new LoadGenerator();
    return await compareShapes({ transport: 'sse', service, floor, honest, precomputed, load }, SHAPES, sizes);
  },
};
