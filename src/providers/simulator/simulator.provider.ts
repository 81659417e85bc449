import { setImmediate } from 'node:timers/promises';

import { Inject } from '@nestjs/common';

import { Clock } from '../../time/index.js';
import type { ModelEvent } from '../model-event.js';
import type { ModelInfo } from '../model-provider.js';
import { ModelProvider, ModelProviderBase } from '../model-provider.js';
import type { Turn } from '../turn.js';
import { describeModel, listModels } from './model-catalogue.js';
import type { Answer } from './answer/plan-answer.js';
import { planAnswer } from './answer/plan-answer.js';
import { SimulatorOptions } from './simulator-options.js';
import { toEvents } from './answer/to-events.js';
import { sumTokens } from './answer/token-pieces.js';

/** Deltas that leave together when nobody asked for a delay. */
const BATCH_LENGTH = 8;

/**
 * A model that needs no network, no key and no luck: the same request has the same answer, tools are called with
 * arguments their schema allows, structured output is valid, and tokens are counted as o200k_base has them.
 */
@ModelProvider('simulator')
export class SimulatorProvider extends ModelProviderBase {
  constructor(
    @Inject(SimulatorOptions) private readonly options: SimulatorOptions,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async models(): Promise<readonly ModelInfo[]> {
    return listModels();
  }

  override find(model: string): ModelInfo | undefined {
    return model === '' ? undefined : describeModel(model);
  }

  override async *generate(
    turn: Turn,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<readonly ModelEvent[]> {
    if (isAborted(signal)) return;
    const answer = await planAnswer(turn, this.options.seed);
    for (const batch of toBatches(toEvents(answer), this.options.delayMs > 0 ? 1 : BATCH_LENGTH)) {
      if (isAborted(signal)) return;
      yield batch;
      await this.pause(signal);
    }
    const input = await this.countTokens(turn);
    if (isAborted(signal)) return;
    yield [toUsageEvent(answer, input), { type: 'finish', reason: answer.cut ? 'length' : 'stop' }];
  }

  /** With or without a delay, other turns get theirs, and an abort is noticed. */
  private async pause(signal: AbortSignal): Promise<void> {
    if (this.options.delayMs > 0) await this.clock.sleep(this.options.delayMs, signal);
    else await setImmediate();
  }
}

function* toBatches(events: Iterable<ModelEvent>, length: number): Generator<readonly ModelEvent[]> {
  let batch: ModelEvent[] = [];
  for (const event of events) {
    batch.push(event);
    if (batch.length < length) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Asked anew each time: while we waited, it may have changed. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function toUsageEvent({ reasoning, pieces }: Answer, input: number): ModelEvent {
  const thought = reasoning?.tokens ?? 0;
  return { type: 'usage', input, cached: 0, output: thought + sumTokens(pieces), reasoning: thought };
}
