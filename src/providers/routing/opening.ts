import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { ModelEvent } from '../model-event.js';
import type { ModelSink } from '../model-sink.js';
import type { Target } from './target.js';
import type { TargetHealth } from './target-health.js';

/** After this many batches without output, an attempt counts as begun. */
const MOST_SILENT_BATCHES = 8;

/** Buffers the events of a target until its first output, then passes all events on. */
export class Opening implements ModelSink {
  /** Null once the target has begun. */
  private held: ModelEvent[] | null;
  private batches = 0;
  private isGivenUp = false;

  /** `model` is the requested name. */
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

  /** Whether events have reached the client, so that no other target can be tried. */
  get hasBegun(): boolean {
    return this.held === null;
  }

  write(batch: readonly ModelEvent[]): Promise<void> | undefined {
    const { held } = this;
    if (held === null) return this.sink.write(batch);
    if (this.isGivenUp) return nextLoopTurn();
    if (batch.length === 0) return this.sink.write(batch);
    for (const event of batch) held.push(event);
    this.batches += 1;
    if (held.every(isSilent) && this.batches < MOST_SILENT_BATCHES) return undefined;
    this.held = null;
    this.health.answered(this.target);
    return this.sink.write(held);
  }

  /** Ends a failed attempt; later writes of its provider are ignored. */
  giveUp(): void {
    this.isGivenUp = true;
  }
}

/** Whether an event has no output. Invalid events count as output; the assembler rejects them. */
function isSilent(event: ModelEvent | null | undefined): boolean {
  return event?.type === 'metadata';
}
