import { isBatch, type ModelEvent } from './model-event.js';
import type { ModelProviderBase } from './model-provider.js';
import type { ModelSink } from './model-sink.js';
import type { Turn } from './turn.js';

type Output = ModelEvent | readonly ModelEvent[];

/**
 * Has a provider answer a turn into a sink, in whichever form it has. Resolves at the end of its stream, with or without a
 * `finish`; rejects with what it throws. May throw as well, where a `push` is no async function.
 */
export function askProvider(provider: ModelProviderBase, turn: Turn, sink: ModelSink): Promise<void> {
  if (pushes(provider)) return provider.push(turn, sink);
  return pumpStream(() => provider.generate(turn, { signal: sink.signal }), sink);
}

/** Whether a provider answers by its `push`: not where a subclass has overridden only `generate`. */
export function pushes(
  provider: ModelProviderBase,
): provider is ModelProviderBase & Required<Pick<ModelProviderBase, 'push'>> {
  for (let level: object | null = provider; level !== null; level = Object.getPrototypeOf(level) as object | null) {
    if (Object.hasOwn(level, 'push')) return typeof provider.push === 'function';
    if (Object.hasOwn(level, 'generate')) return false;
  }
  return false;
}

/** Writes a stream into a sink, until its end or until the sink is closed. Rejects with what the stream throws. */
export async function pumpStream(open: () => AsyncIterable<Output>, sink: ModelSink): Promise<void> {
  const { signal } = sink;
  const stream = new Source(open());
  // Not awaited by anybody: a generator that hangs in its own await would hold the turn.
  const onAbort = (): void => stream.dismiss();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (!sink.isClosed) {
      const { done, value } = await stream.next();
      if (done === true) return;
      const waiting = sink.write(isBatch(value) ? value : [value]);
      if (waiting !== undefined) await waiting;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    stream.dismiss();
  }
}

/** A provider's stream, which is closed once at most. */
class Source {
  private readonly iterator: AsyncIterator<Output, unknown>;
  private isDismissed = false;

  constructor(stream: AsyncIterable<Output>) {
    this.iterator = stream[Symbol.asyncIterator]();
  }

  next(): Promise<IteratorResult<Output, unknown>> {
    return this.iterator.next();
  }

  dismiss(): void {
    if (this.isDismissed) return;
    this.isDismissed = true;
    void this.end();
  }

  private async end(): Promise<void> {
    try {
      await this.iterator.return?.();
    } catch {
      // The turn is over; how the provider takes it back changes nothing.
    }
  }
}
