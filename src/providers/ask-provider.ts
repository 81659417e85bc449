import { isBatch, type ModelEvent } from './model-event.js';
import type { ModelProviderBase } from './model-provider.js';
import type { ModelSink } from './model-sink.js';
import type { Turn } from './turn.js';

type Output = ModelEvent | readonly ModelEvent[];

/**
 * Writes a provider's answer to a turn into a sink, through `push` or `generate`. Resolves at the end of the stream, with or
 * without a `finish`; rejects with what the provider throws. Throws synchronously if `push` is not an async function and throws.
 */
export function askProvider(provider: ModelProviderBase, turn: Turn, sink: ModelSink): Promise<void> {
  if (pushes(provider)) return provider.push(turn, sink);
  return pumpStream(() => provider.generate(turn, { signal: sink.signal }), sink);
}

/** Whether a provider answers through `push`. False if a subclass overrides only `generate`. */
export function pushes(
  provider: ModelProviderBase,
): provider is ModelProviderBase & Required<Pick<ModelProviderBase, 'push'>> {
  for (let level: object | null = provider; level !== null; level = Object.getPrototypeOf(level) as object | null) {
    if (Object.hasOwn(level, 'push')) return typeof provider.push === 'function';
    if (Object.hasOwn(level, 'generate')) return false;
  }
  return false;
}

/** Writes a stream into a sink until the stream ends or the sink closes. Rejects with what the stream throws. */
export async function pumpStream(open: () => AsyncIterable<Output>, sink: ModelSink): Promise<void> {
  const { signal } = sink;
  const stream = new Source(open());
  // Not awaited: a generator that hangs in its own await would block the turn.
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

/** A provider's stream. It is closed at most once. */
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
      // The turn is over, so errors while closing the stream are ignored.
    }
  }
}
