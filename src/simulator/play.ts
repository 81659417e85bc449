import { setImmediate } from 'node:timers/promises';

import type { Clock } from '../time/index.js';
import type { ModelEvent, ModelSink } from '../providers/index.js';
import type { Plan } from './step.js';

/** Events that leave together when there is no pause between them. */
const BATCH_LENGTH = 8;

/** Pauses add up to this before they are waited for, ms: timers know nothing shorter. */
const SHORTEST_WAIT_MS = 1;
const LONGEST_WAIT_MS = 2_147_483_647;

/** What no model may say: the road has to notice. */
const NONSENSE = { type: 'text', delta: 42 } as unknown as ModelEvent;

/** A plan that is about to happen. */
export interface Performance extends Plan {
  /** 2 halves all pauses. */
  readonly speed: number;
  /** Tokens the model read. */
  readonly input: number;
}

/** Lets happen what is planned, in batches. Stops at once when the sink is closed; rejects with what the plan says, or planning. */
export async function play(plan: () => Promise<Performance>, clock: Clock, sink: ModelSink): Promise<void> {
  if (sink.isClosed) return;
  const { steps, written, speed, input } = await plan();
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
        await clock.sleep(Math.min(owedMs, LONGEST_WAIT_MS), sink.signal);
        owedMs = 0;
        break;
      case 'garble':
        // Apart from what was said before, which is to arrive.
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
        return sink.write(written === null ? [step] : [{ type: 'usage', input, cached: 0, ...written }, step]);
      default:
        batch.push(step);
        if (batch.length < BATCH_LENGTH) break;
        await sayRest();
        // Other turns get theirs, and an abort is noticed.
        await setImmediate();
    }
  }
  return sayRest();
}

/** Asked anew each time: while we waited, it may have changed. */
function isClosed(sink: ModelSink): boolean {
  return sink.isClosed;
}
