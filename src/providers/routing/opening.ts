import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { ModelEvent } from '../model-event.js';
import type { ModelSink } from '../model-sink.js';
import type { Target } from './target.js';
import type { TargetHealth } from './target-health.js';

/** Who says nothing so often is taken at its word: it has begun. */
const MOST_SILENT_BATCHES = 8;

/** Holds back what a target says up to its first word; what comes from then on goes straight to the client. */
export class Opening implements ModelSink {
  /** Null once the target has begun. */
  private held: ModelEvent[] | null;
  private batches = 0;
  private isGivenUp = false;

  /** `model` is the name that was asked for. */
  constructor(
    private readonly sink: ModelSink,
    private readonly target: Target,
    model: string,
    private readonly health: TargetHealth,
  ) {
    this.held = [{ type: 'metadata', provider: target.providerName, model: target.toModel(model) }];
  }

  get signal(): AbortSignal {
    return this.sink.signal;
  }

  get isClosed(): boolean {
    return this.isGivenUp || this.sink.isClosed;
  }

  /** Whether the client is given what the target says: another one would contradict it. */
  get hasBegun(): boolean {
    return this.held === null;
  }

  write(batch: readonly ModelEvent[]): Promise<void> | undefined {
    const { held } = this;
    if (held === null) return this.sink.write(batch);
    if (this.isGivenUp) return nextLoopTurn();
    for (const event of batch) held.push(event);
    this.batches += 1;
    if (held.every(isSilent) && this.batches < MOST_SILENT_BATCHES) return undefined;
    this.held = null;
    this.health.answered(this.target);
    return this.sink.write(held);
  }

  /** The attempt has failed: what its provider may still write must not get into the next one. */
  giveUp(): void {
    this.isGivenUp = true;
  }
}

/** What a model has said nothing with yet. A provider's nonsense is for the assembler to find. */
function isSilent(event: ModelEvent | null | undefined): boolean {
  return event?.type === 'metadata';
}
