import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { ModelEvent } from '../providers/index.js';
import type { Clock } from '../time/index.js';

/** Batches read without a turn of the event loop, after which one is given so that an eager provider starves nobody. */
const BATCHES_PER_LOOP_TURN = 32;

/** What bounds the reading of a provider. */
export interface ReadOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Called when the provider has said nothing for this long, ms; 0 is never. */
  readonly idleTimeoutMs: number;
  readonly onIdle: () => void;
}

/**
 * Reads a provider's stream as batches. An abort ends the reading at once even if the provider never notices; the
 * provider is told to stop in every case. Throws the signal's reason on abort, and whatever the provider throws.
 */
export async function* readProvider(
  stream: AsyncIterable<ModelEvent | readonly ModelEvent[]>,
  { signal, clock, idleTimeoutMs, onIdle }: ReadOptions,
): AsyncGenerator<readonly ModelEvent[], void, undefined> {
  const iterator = stream[Symbol.asyncIterator]();
  // Set anew for each pull. Racing against one promise for the whole turn would keep a reaction per batch alive.
  let interrupt: (reason: unknown) => void = () => undefined;
  const onAbort = (): void => interrupt(signal.reason);
  signal.addEventListener('abort', onAbort);
  // A reader that is slow itself must not count as a model that is silent.
  let waiting = false;
  const onSilence = (): void => {
    if (waiting) onIdle();
  };
  const idle = idleTimeoutMs > 0 ? clock.schedule(idleTimeoutMs, onSilence) : null;
  try {
    for (let batches = 1; ; batches += 1) {
      signal.throwIfAborted();
      idle?.refresh();
      waiting = true;
      const result = await new Promise<IteratorResult<ModelEvent | readonly ModelEvent[], unknown>>(
        (resolve, reject) => {
          interrupt = reject;
          iterator.next().then(resolve, reject);
        },
      );
      waiting = false;
      if (result.done === true) return;
      yield isBatch(result.value) ? result.value : [result.value];
      if (batches % BATCHES_PER_LOOP_TURN === 0) await nextLoopTurn();
    }
  } finally {
    idle?.cancel();
    signal.removeEventListener('abort', onAbort);
    // Not awaited: a generator that hangs in its own await would hold the turn.
    void dismiss(iterator);
  }
}

async function dismiss(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The turn is over; how the provider takes it back changes nothing.
  }
}

function isBatch(value: ModelEvent | readonly ModelEvent[]): value is readonly ModelEvent[] {
  return Array.isArray(value);
}
