import { setImmediate } from 'node:timers/promises';

import type { Clock } from '../../time/index.js';
import type { ModelEvent } from '../model-event.js';
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

/** Lets happen what is planned, in batches. Stops at once when the signal aborts; throws what the plan says, or planning. */
export async function* play(
  plan: () => Promise<Performance>,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], void, undefined> {
  if (signal.aborted) return;
  const { steps, written, speed, input } = await plan();
  let batch: ModelEvent[] = [];
  let owedMs = 0;
  for (const step of steps) {
    if (isAborted(signal)) return;
    switch (step.type) {
      case 'think':
        break;
      case 'pause':
        owedMs += step.ms / speed;
        if (owedMs < SHORTEST_WAIT_MS) break;
        if (batch.length > 0) yield batch;
        batch = [];
        await clock.sleep(Math.min(owedMs, LONGEST_WAIT_MS), signal);
        owedMs = 0;
        break;
      case 'garble':
        // Apart from what was said before, which is to arrive.
        if (batch.length > 0) yield batch;
        batch = [];
        yield [NONSENSE];
        break;
      case 'throw':
        if (batch.length > 0) yield batch;
        throw step.error;
      case 'leave':
        if (batch.length > 0) yield batch;
        return;
      case 'finish':
        if (batch.length > 0) yield batch;
        if (isAborted(signal)) return;
        yield written === null ? [step] : [{ type: 'usage', input, cached: 0, ...written }, step];
        return;
      default:
        batch.push(step);
        if (batch.length < BATCH_LENGTH) break;
        yield batch;
        batch = [];
        // Other turns get theirs, and an abort is noticed.
        await setImmediate();
    }
  }
  if (batch.length > 0) yield batch;
}

/** Asked anew each time: while we waited, it may have changed. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
