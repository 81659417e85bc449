import { agentLoopCase } from './agent-loop.ts';
import { backgroundCase } from './background.ts';
import type { BenchmarkCase } from './benchmark-case.ts';
import { chainsCase } from './chains.ts';
import { coldStartCase } from './cold-start.ts';
import { conversationsCase } from './conversations.ts';
import { gapsCase } from './gaps.ts';
import { gatewayJsonCase } from './gateway-json.ts';
import { hostileCase } from './hostile.ts';
import { idleSocketsCase } from './idle-sockets.ts';
import { jsonCase } from './json.ts';
import { memoryCase } from './memory.ts';
import { operationsCase } from './operations.ts';
import { pacedCase } from './paced.ts';
import { relayCase, responsesRelayCase } from './relay.ts';
import { savesCase } from './saves.ts';
import { simulatorJsonCase } from './simulator-json.ts';
import { simulatorCase } from './simulator.ts';
import { soakCase } from './soak.ts';
import { sseCase } from './sse.ts';
import { tokenCountCase } from './token-count.ts';
import { turnCostCase } from './turn-cost.ts';
import { upstreamLoopCase } from './upstream-loop.ts';
import { validationCase } from './validation.ts';
import { workersCase } from './workers.ts';
import { wsCase } from './ws.ts';

/** All cases, in execution order. */
export const CASES: readonly BenchmarkCase[] = [
  sseCase,
  wsCase,
  jsonCase,
  turnCostCase,
  validationCase,
  tokenCountCase,
  simulatorCase,
  simulatorJsonCase,
  relayCase,
  responsesRelayCase,
  pacedCase,
  workersCase,
  gatewayJsonCase,
  gapsCase,
  agentLoopCase,
  upstreamLoopCase,
  chainsCase,
  conversationsCase,
  savesCase,
  operationsCase,
  backgroundCase,
  hostileCase,
  idleSocketsCase,
  coldStartCase,
  memoryCase,
  soakCase,
];
