import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { ModelEvent } from '../providers/index.js';
import type { Clock, Timer } from '../time/index.js';
import type { LiveTurn } from './live-turn.js';

/** Batches read without a turn of the event loop, after which one is given so that an eager provider starves nobody. */
const BATCHES_PER_LOOP_TURN = 32;

type Yield = ModelEvent | readonly ModelEvent[];

/** Reads a provider's stream for a turn, batch by batch. Close it in every case. */
export class ProviderReader {
  private readonly iterator: AsyncIterator<Yield, unknown>;
  private readonly idle: Timer | null;
  private batches = 0;
  /** A reader that is slow itself must not count as a model that is silent. */
  private waiting = false;

  /** The turn times out when the provider says nothing for `idleTimeoutMs`; 0 is never. */
  constructor(
    stream: AsyncIterable<Yield>,
    private readonly turn: LiveTurn,
    clock: Clock,
    idleTimeoutMs: number,
  ) {
    this.iterator = stream[Symbol.asyncIterator]();
    const onSilence = (): void => {
      if (this.waiting) turn.timeOut();
    };
    this.idle = idleTimeoutMs > 0 ? clock.schedule(idleTimeoutMs, onSilence) : null;
  }

  /**
   * The next batch, or null at the end. Throws what the provider throws, and why the turn was stopped. It does not end by itself
   * when the turn is to stop, for the provider may never notice: wait for it with `LiveTurn.until`.
   */
  async next(): Promise<readonly ModelEvent[] | null> {
    // Nobody waits any more, but whoever waited for a client to catch up goes on: a closed provider is not asked again.
    this.turn.signal.throwIfAborted();
    this.idle?.refresh();
    this.waiting = true;
    const { done, value } = await this.iterator.next();
    this.waiting = false;
    this.batches += 1;
    if (this.batches % BATCHES_PER_LOOP_TURN === 0) await nextLoopTurn();
    this.turn.signal.throwIfAborted();
    if (done === true) return null;
    return isBatch(value) ? value : [value];
  }

  /** Tells the provider to stop. Not awaited: a generator that hangs in its own await would hold the turn. */
  close(): void {
    this.idle?.cancel();
    void dismiss(this.iterator);
  }
}

async function dismiss(iterator: AsyncIterator<unknown, unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The turn is over; how the provider takes it back changes nothing.
  }
}

function isBatch(value: Yield): value is readonly ModelEvent[] {
  return Array.isArray(value);
}
