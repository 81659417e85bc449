import type { ModelEvent } from '../model-event.js';
import type { ModelSink } from '../model-sink.js';
import type { UpstreamAttempt } from '../upstream-attempt.js';
import type { UpstreamNotice } from '../upstream-notice.js';
import type { Tape } from './tape.js';

/** Records the events that are written into a sink. */
export class RecordingSink implements ModelSink {
  /** What was told before the output; it is recorded with that. */
  private told: ModelEvent[] = [];

  constructor(
    private readonly sink: ModelSink,
    private readonly tape: Tape,
  ) {}

  get signal(): AbortSignal {
    return this.sink.signal;
  }

  get isClosed(): boolean {
    return this.sink.isClosed;
  }

  /** Whether the sink closed before the end of the answer. */
  get isStopped(): boolean {
    return this.sink.isClosed && !this.tape.isFinished;
  }

  write(batch: readonly ModelEvent[]): Promise<void> | undefined {
    if (this.sink.isClosed) return this.sink.write(batch);
    const told = batch.length === 0 ? [] : this.told.splice(0);
    this.tape.add([...told, ...batch]);
    const waiting = this.sink.write(this.sink.head === undefined ? [...told, ...batch] : batch);
    if (waiting !== undefined) return this.wait(waiting);
    this.noticeRefusal();
    return undefined;
  }

  head(events: readonly ModelEvent[], isWhole: boolean): void {
    this.told = [...events];
    this.sink.head?.(events, isWhole);
  }

  attempted(attempt: UpstreamAttempt): void {
    this.sink.attempted?.(attempt);
  }

  repeated(errorCode: string, failedAt: number): void {
    this.sink.repeated?.(errorCode, failedAt);
  }

  notice(notice: UpstreamNotice): void {
    this.sink.notice?.(notice);
  }

  private async wait(waiting: Promise<void>): Promise<void> {
    await waiting;
    this.noticeRefusal();
  }

  /** A sink that closes without an abort and without a `finish` has rejected an invalid event. */
  private noticeRefusal(): void {
    if (this.isStopped && !this.sink.signal.aborted) this.tape.refuse();
  }
}
