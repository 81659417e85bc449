import type { BenchmarkCase } from './benchmark-case.ts';
import { chainsCase } from './chains.ts';
import { relayCase } from './relay.ts';
import { savesCase } from './saves.ts';
import { simulatorCase } from './simulator.ts';
import { sseCase } from './sse.ts';

/** Every case, in the order in which they run. */
export const CASES: readonly BenchmarkCase[] = [sseCase, simulatorCase, relayCase, chainsCase, savesCase];
