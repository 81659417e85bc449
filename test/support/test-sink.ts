import type { ModelEvent, ModelSink } from '../../src/index.js';
import type { AnswerTaker } from '../../src/providers/responses/transport/exchange.js';
import { Notifier } from './notifier.js';

/** Keeps what it is given in batches. A test says when it has no room. */
export class TestRoom<Batch> {
  readonly batches: Batch[] = [];
  protected readonly arrivals = new Notifier();
  private room: PromiseWithResolvers<void> | null = null;

  /** From now on everybody who writes has to wait. */
  fill(): void {
    this.room = Promise.withResolvers();
  }

  /** Lets go on what waits. */
  drain(): void {
    this.room?.resolve();
    this.room = null;
  }

  protected keep(batch: Batch): Promise<void> | undefined {
    this.batches.push(batch);
    this.arrivals.notify();
    return this.room?.promise;
  }
}

/** A sink that keeps what is written. A test also says when it is closed and when its turn is stopped. */
export class TestSink extends TestRoom<readonly ModelEvent[]> implements ModelSink {
  private controller: AbortController | null = null;
  private closed = false;
  private stopped: { readonly reason: unknown } | null = null;

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.stopped !== null) this.controller.abort(this.stopped.reason);
    return this.controller.signal;
  }

  /** Whether somebody has read the signal. */
  get hasSignal(): boolean {
    return this.controller !== null;
  }

  get isClosed(): boolean {
    return this.closed;
  }

  get events(): readonly ModelEvent[] {
    return this.batches.flat();
  }

  write(batch: readonly ModelEvent[]): Promise<void> | undefined {
    return this.keep(batch);
  }

  /** Reads no further, as behind what no model may say. */
  close(): void {
    this.closed = true;
  }

  /** Stops the turn. */
  stop(reason: unknown): void {
    this.closed = true;
    this.stopped = { reason };
    this.controller?.abort(reason);
  }

  /** Resolves once so many batches were written. */
  async written(count: number): Promise<void> {
    await this.arrivals.until(() => this.batches[count - 1]);
  }
}

/** Keeps the events of an answer, those between two flushes as a batch. */
export class TestTaker extends TestRoom<readonly string[]> implements AnswerTaker {
  private open: string[] = [];

  constructor(private readonly isTerminal = (json: string): boolean => json.includes('response.completed')) {
    super();
  }

  get events(): readonly string[] {
    return [...this.batches.flat(), ...this.open];
  }

  take(json: string): boolean {
    this.open.push(json);
    return this.isTerminal(json);
  }

  flush(): Promise<void> | undefined {
    const batch = this.open;
    this.open = [];
    return this.keep(batch);
  }

  /** Resolves when so many events were flushed. */
  async taken(count: number): Promise<void> {
    await this.arrivals.until(() => this.batches.flat()[count - 1]);
  }
}
