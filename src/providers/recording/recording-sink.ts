import type { ModelEvent } from '../model-event.js';
import type { ModelSink } from '../model-sink.js';
import type { UpstreamAttempt } from '../upstream-attempt.js';
import type { Tape } from './tape.js';

/** Records the events that are written into a sink. */
export class RecordingSink implements ModelSink {
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
    this.tape.add(batch);
    const waiting = this.sink.write(batch);
    if (waiting !== undefined) return this.wait(waiting);
    this.noticeRefusal();
    return undefined;
  }

  attempted(attempt: UpstreamAttempt): void {
    this.sink.attempted?.(attempt);
  }

  repeated(errorCode: string, failedAt: number): void {
    this.sink.repeated?.(errorCode, failedAt);
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
