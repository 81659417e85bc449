import { setImmediate } from 'node:timers/promises';

import { type Clock, LONGEST_DELAY_MS } from '../time/index.js';
import type { ModelEvent, ModelSink } from '../providers/index.js';
import type { Plan } from './step.js';

/** Events that are written between two turns of the event loop: most answers are one batch. */
const BATCH_LENGTH = 64;

/** Shorter pauses are added up to this, the resolution of timers, ms. */
const SHORTEST_WAIT_MS = 1;

/** An invalid event, for the fault `malformed`. */
const NONSENSE = { type: 'text', delta: 42 } as unknown as ModelEvent;

/** A plan with the settings to play it. */
export interface Performance extends Plan {
  /** 2 halves all pauses. */
  readonly speed: number;
  /** Input tokens, and those of them that were cached. */
  readonly input: number;
  readonly cached: number;
}

/** Writes the steps of a plan into a sink. Stops once the sink is closed. Rejects with errors of planning and `throw` steps. */
export async function play(plan: () => Promise<Performance>, clock: Clock, sink: ModelSink): Promise<void> {
  if (sink.isClosed) return;
  const { steps, written, speed, input, cached } = await plan();
  let batch: ModelEvent[] = [];
  let owedMs = 0;
  const sayRest = (): Promise<void> | undefined => {
    const rest = batch;
    batch = [];
    return rest.length > 0 ? sink.write(rest) : undefined;
  };
  for (const step of steps) {
    if (isClosed(sink)) return;
    switch (step.type) {
      case 'think':
        break;
      case 'pause':
        owedMs += step.ms / speed;
        if (owedMs < SHORTEST_WAIT_MS) break;
        await sayRest();
        await clock.sleep(Math.min(owedMs, LONGEST_DELAY_MS), sink.signal);
        owedMs = 0;
        break;
      case 'garble':
        // In a batch of its own, so that earlier events arrive.
        await sayRest();
        await sink.write([NONSENSE]);
        break;
      case 'throw':
        await sayRest();
        throw step.error;
      case 'leave':
        return sayRest();
      case 'finish':
        await sayRest();
        if (isClosed(sink)) return;
        return sink.write(written === null ? [step] : [{ type: 'usage', input, cached, ...written }, step]);
      default:
        batch.push(step);
        if (batch.length < BATCH_LENGTH) break;
        await sayRest();
        // Yields to other turns and to abort signals.
        await setImmediate();
    }
  }
  return sayRest();
}

/** Defeats TypeScript's narrowing: the sink may close during an await. */
function isClosed(sink: ModelSink): boolean {
  return sink.isClosed;
}
