import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { ModelEvent } from './model-event.js';
import { ModelProviderBase } from './model-provider.js';
import type { ModelSink } from './model-sink.js';
import type { Turn } from './turn.js';

/** A provider that implements `push`; `generate` streams what `push` writes. */
export abstract class PushingProvider extends ModelProviderBase {
  abstract override push(turn: Turn, sink: ModelSink): Promise<void>;

  override generate(
    turn: Turn,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<readonly ModelEvent[], void, undefined> {
    return readPushed((sink) => this.push(turn, sink), signal);
  }
}

/**
 * Streams the batches that `push` writes. The promise of a write resolves when the reader requests the next batch. Throws what
 * `push` rejects with, after all earlier batches. If the reader stops early, the signal of `push` aborts and the stream ends when
 * `push` does.
 */
export async function* readPushed(
  push: (sink: ModelSink) => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], void, undefined> {
  const aborter = new AbortController();
  const onAbort = (): void => aborter.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const queue = new Queue(aborter.signal);
  const ended = queue.fill(push);
  try {
    for (;;) {
      const batch = await queue.next();
      if (batch === null) break;
      yield batch;
    }
    if (queue.failure !== null) throw queue.failure.error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    queue.close();
    // Lets a push end by itself that only waited for its last batch to be read.
    await Promise.race([ended, nextLoopTurn()]);
    if (!queue.hasEnded) aborter.abort();
    await ended;
  }
}

/** Batches that are written but not yet read. */
class Queue implements ModelSink {
  failure: { readonly error: unknown } | null = null;
  hasEnded = false;
  private readonly batches: (readonly ModelEvent[])[] = [];
  private left = false;
  private written: PromiseWithResolvers<void> | null = null;
  private read: PromiseWithResolvers<void> | null = null;

  constructor(readonly signal: AbortSignal) {}

  get isClosed(): boolean {
    return this.left || this.signal.aborted;
  }

  /** Runs `push` to its end. Never rejects: the error is stored in `failure`. */
  async fill(push: (sink: ModelSink) => Promise<void>): Promise<void> {
    try {
      await push(this);
    } catch (error) {
      this.failure = { error };
    }
    this.hasEnded = true;
    this.written?.resolve();
  }

  write(batch: readonly ModelEvent[]): Promise<void> | undefined {
    // A provider that keeps writing to a closed sink must not block the event loop.
    if (this.isClosed) return nextLoopTurn();
    this.batches.push(batch);
    this.written?.resolve();
    this.read ??= Promise.withResolvers();
    return this.read.promise;
  }

  async next(): Promise<readonly ModelEvent[] | null> {
    // A request for the next batch means that the previous one was read.
    if (this.batches.length === 0) this.goOn();
    while (this.batches.length === 0 && !this.hasEnded) {
      this.written = Promise.withResolvers();
      await this.written.promise;
    }
    return this.batches.shift() ?? null;
  }

  /** Ends reading; later writes are ignored. */
  close(): void {
    this.left = true;
    this.goOn();
  }

  private goOn(): void {
    this.read?.resolve();
    this.read = null;
  }
}
