import type { ModelEvent, Turn } from '../../src/index.js';
import type { ScriptedProvider } from '../../src/testing/index.js';
import { Notifier } from './notifier.js';

/** A scripted model at work: it writes what a test says, when the test says so. */
export class Pen {
  private readonly waiting: (readonly ModelEvent[])[] = [];
  private readonly changes = new Notifier();
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
    this.changes.notify();
  }

  /** Writes these last events and ends. */
  end(...events: readonly ModelEvent[]): void {
    this.write(...events, { type: 'finish', reason: 'stop' });
  }

  async *batches(): AsyncGenerator<readonly ModelEvent[]> {
    for (;;) yield await this.changes.until(() => this.waiting.shift());
  }
}

/** The pens of a scripted model, one for each question that it is asked from now on. */
export class Pens {
  private readonly held: Pen[] = [];
  private readonly changes = new Notifier();

  constructor(provider: ScriptedProvider) {
    provider.otherwise((turn, { signal }) => {
      const pen = new Pen(turn, signal);
      this.held.push(pen);
      this.changes.notify();
      return pen.batches();
    });
  }

  /** The pen of the next question. */
  next(): Promise<Pen> {
    return this.changes.until(() => this.held.shift());
  }
}
