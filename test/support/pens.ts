import type { ModelEvent, Turn } from '../../src/index.js';
import type { ScriptedProvider } from '../../src/testing/index.js';

/** A scripted model at work: it writes what a test says, when the test says so. */
export class Pen {
  private readonly waiting: (readonly ModelEvent[])[] = [];
  private wake = Promise.withResolvers<undefined>();
  /** Resolves when the model is told to stop. */
  readonly stopped: Promise<undefined>;

  constructor(
    readonly turn: Turn,
    signal: AbortSignal,
  ) {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
    this.stopped = promise;
  }

  /** Writes a batch. */
  write(...events: readonly ModelEvent[]): void {
    this.waiting.push(events);
    this.wake.resolve(undefined);
  }

  /** Writes these last events and ends. */
  end(...events: readonly ModelEvent[]): void {
    this.write(...events, { type: 'finish', reason: 'stop' });
  }

  async *batches(): AsyncGenerator<readonly ModelEvent[]> {
    for (;;) {
      const batch = this.waiting.shift();
      if (batch !== undefined) {
        yield batch;
        continue;
      }
      await this.wake.promise;
      this.wake = Promise.withResolvers();
    }
  }
}

/** The pens of a scripted model, one for each question that it is asked from now on. */
export class Pens {
  private readonly held: Pen[] = [];
  private wake = Promise.withResolvers<undefined>();

  constructor(provider: ScriptedProvider) {
    provider.otherwise((turn, { signal }) => {
      const pen = new Pen(turn, signal);
      this.held.push(pen);
      this.wake.resolve(undefined);
      this.wake = Promise.withResolvers();
      return pen.batches();
    });
  }

  /** The pen of the next question. */
  async next(): Promise<Pen> {
    for (;;) {
      const pen = this.held.shift();
      if (pen !== undefined) return pen;
      await this.wake.promise;
    }
  }
}
