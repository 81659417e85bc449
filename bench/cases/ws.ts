import { LoadGenerator } from '../processes/load-generator.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { compareShapes } from './compare-shapes.ts';
import { startFloor, startService } from './programs.ts';

/** The same turns over WebSocket, on sockets that are open already. They begin conversations: none continues another turn. */
export const wsCase: BenchmarkCase = {
  name: 'ws',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startService({ WS_MAX_CONNECTIONS: String(sizes.streams) });
    await using floor = await startFloor('ws-floor');
    await using precomputed = await startFloor('ws-precomputed');
    await using load = new LoadGenerator();
    return await compareShapes({ transport: 'ws', service, floor, precomputed, load }, sizes);
  },
};
