import type { BenchmarkCase } from './benchmark-case.ts';
import { chainsCase } from './chains.ts';
import { coldStartCase } from './cold-start.ts';
import { idleSocketsCase } from './idle-sockets.ts';
import { jsonCase } from './json.ts';
import { relayCase } from './relay.ts';
import { savesCase } from './saves.ts';
import { simulatorCase } from './simulator.ts';
import { sseCase } from './sse.ts';
import { validationCase } from './validation.ts';
import { wsCase } from './ws.ts';

/** Every case, in the order in which they run. */
export const CASES: readonly BenchmarkCase[] = [
  sseCase,
  wsCase,
  jsonCase,
  validationCase,
  simulatorCase,
  relayCase,
  chainsCase,
  savesCase,
  idleSocketsCase,
  coldStartCase,
];
