import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { Clock } from '../../time/index.js';
import { ModelError } from '../model-error.js';
import type { ModelEvent } from '../model-event.js';
import type { ModelSink, UpstreamAttempt, UpstreamNotice } from '../model-sink.js';
import type { Target, TargetHealth } from './target.js';

/** After this many batches without output, an attempt counts as begun. */
const MOST_SILENT_BATCHES = 8;

/** What an attempt asks. */
export interface OpeningOptions {
  readonly target: Target;
  /** The requested name of the model. */
  readonly model: string;
  readonly kind: UpstreamAttempt['kind'];
  readonly health: TargetHealth;
  readonly clock: Clock;
}

/** Buffers the events of a target until its first output, then passes all events on. Reports the requests that it took. */
export class Opening implements ModelSink {
  /** Null once the target has begun. */
  private held: ModelEvent[] | null;
  /** What the target has told before its output, for a sink that does not take it. */
  private told: readonly ModelEvent[] = [];
  private batches = 0;
  private isGivenUp = false;
  private isOver = false;
  private kind: UpstreamAttempt['kind'];
  private startedAt: number;
  private firstOutputMs: number | null = null;

  constructor(
    private readonly sink: ModelSink,
    private readonly options: OpeningOptions,
  ) {
    const { target, model, kind, clock } = options;
    this.kind = kind;
    this.startedAt = clock.now();
    // The turn is over as soon as it is stopped.
    sink.signal.addEventListener('abort', this.onAbort, { once: true });
    this.held = [{ type: 'metadata', provider: target.providerName, model: target.toModel(model) }];
  }

  get signal(): AbortSignal {
    return this.sink.signal;
  }

  get isClosed(): boolean {
    return this.isGivenUp || this.sink.isClosed;
  }

  get isReadAtEnd(): boolean | undefined {
    return this.sink.isReadAtEnd;
  }

  /** Whether events have reached the client, so that no other target can be tried. */
  get hasBegun(): boolean {
    return this.held === null;
  }

  write(batch: readonly ModelEvent[]): Promise<void> | undefined {
    const { held } = this;
    if (held === null) {
      this.noteEnd(batch);
      return this.sink.write(batch);
    }
    if (this.isGivenUp) return nextLoopTurn();
    if (batch.length === 0) return this.sink.write(batch);
    for (const event of batch) held.push(event);
    this.batches += 1;
    if (held.every(isSilent) && this.batches < MOST_SILENT_BATCHES) return undefined;
    this.held = null;
    this.firstOutputMs = this.options.clock.now() - this.startedAt;
    this.options.health.answered(this.options.target);
    this.noteEnd(batch);
    return this.sink.write([...this.told, ...held]);
  }

  /** What a target tells before its output reaches the client even while it thinks. */
  head(events: readonly ModelEvent[], isWhole: boolean): void {
    if (this.isGivenUp) return;
    if (this.sink.head === undefined) this.told = events;
    else this.sink.head(events, isWhole);
  }

  /** The request to the target is over; `error` is why it failed, null when it has answered or was stopped. Repeated calls do nothing. */
  over(error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.sink.signal.removeEventListener('abort', this.onAbort);
    const code = error === null ? null : error instanceof ModelError ? error.code : 'server_error';
    this.report(code, this.options.clock.now());
  }

  /** The provider has failed, and asks the same target again. */
  repeated(errorCode: string, failedAt: number): void {
    this.report(errorCode, failedAt);
    this.kind = 'retry';
    this.startedAt = this.options.clock.now();
  }

  notice(notice: UpstreamNotice): void {
    if (!this.isGivenUp) this.sink.notice?.(notice);
  }

  /** With its last event the turn may be over, too: its record must not miss this request. */
  private noteEnd(batch: readonly ModelEvent[]): void {
    if (batch.at(-1)?.type === 'finish') this.over(null);
  }

  private readonly onAbort = (): void => this.over(null);

  private report(errorCode: string | null, endedAt: number): void {
    const { target, model } = this.options;
    const { kind, startedAt, firstOutputMs } = this;
    const durationMs = endedAt - startedAt;
    const asked = { provider: target.providerName, model: target.toModel(model) };
    this.sink.attempted?.({ ...asked, kind, startedAt, durationMs, firstOutputMs, errorCode });
  }

  /** Ends a failed attempt; later writes of its provider are ignored. */
  giveUp(): void {
    // What this attempt has told must not pass for what the next one tells.
    this.head([], true);
    this.isGivenUp = true;
  }
}

/** Whether an event has no output. Invalid events count as output; the assembler rejects them. */
function isSilent(event: ModelEvent | null | undefined): boolean {
  return event?.type === 'metadata';
}
