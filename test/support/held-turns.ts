import type { ModelEvent, Turn } from '../../src/index.js';
import type { ScriptedProvider } from '../../src/testing/index.js';
import { Notifier } from './notifier.js';
import { transcript } from './output.js';

/**
 * Turns of a scripted model that begin to write, say so, and end only when a test lets them. Each is known by the text of
 * the last item of its input, and answers `re <text>`.
 */
export class HeldTurns {
  /** Those that the model has begun, in order. */
  readonly begun: string[] = [];
  /** Those that the model is at work on. */
  running = 0;
  /** Most that it was at work on at once. */
  peak = 0;
  private readonly gates = new Map<string, PromiseWithResolvers<readonly ModelEvent[]>>();
  private readonly changes = new Notifier();

  constructor(private readonly provider: ScriptedProvider) {}

  /** Holds the next turns that have no script yet. */
  hold(count = 1): this {
    for (let turn = 0; turn < count; turn += 1) this.provider.play((asked) => this.run(asked));
    return this;
  }

  /** Resolves when so many have begun, all in all. */
  whenBegun(count: number): Promise<readonly string[]> {
    return this.changes.until(() => (this.begun.length < count ? undefined : this.begun));
  }

  /** Lets a turn say these last words and end; also before it has begun. */
  letGo(text: string, ...last: readonly ModelEvent[]): void {
    this.gate(text).resolve(last);
  }

  /** Lets every turn end that has begun. */
  letAllGo(): void {
    for (const text of this.begun) this.letGo(text);
  }

  /** Breaks a turn that has begun. */
  fail(text: string, error: Error): void {
    this.gate(text).reject(error);
  }

  private async *run({ input }: Turn): AsyncGenerator<readonly ModelEvent[]> {
    const text = (transcript(input).at(-1) ?? '').replace(/^\w+: /, '');
    this.running += 1;
    this.peak = Math.max(this.peak, this.running);
    this.begun.push(text);
    this.changes.notify();
    try {
      yield [{ type: 'text', delta: 're ' }];
      const last = await this.gate(text).promise;
      const ends = last.some(({ type }) => type === 'finish');
      yield [{ type: 'text', delta: text }, ...last, ...(ends ? [] : [{ type: 'finish', reason: 'stop' } as const])];
    } finally {
      this.running -= 1;
    }
  }

  private gate(text: string): PromiseWithResolvers<readonly ModelEvent[]> {
    const gate = this.gates.get(text) ?? Promise.withResolvers<readonly ModelEvent[]>();
    this.gates.set(text, gate);
    return gate;
  }
}

/** A turn of a scripted model, which writes what a test says, when the test says so. */
export class WrittenTurn {
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

/** The turns of a scripted model that write what a test says, one for each question that it is asked from now on. */
export class WrittenTurns {
  private readonly held: WrittenTurn[] = [];
  private readonly changes = new Notifier();

  constructor(provider: ScriptedProvider) {
    provider.otherwise((turn, { signal }) => {
      const written = new WrittenTurn(turn, signal);
      this.held.push(written);
      this.changes.notify();
      return written.batches();
    });
  }

  /** The turn of the next question. */
  next(): Promise<WrittenTurn> {
    return this.changes.until(() => this.held.shift());
  }
}
