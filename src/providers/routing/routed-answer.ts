import type { Clock } from '../../time/index.js';
import { ModelError } from '../model-error.js';
import type { ModelEvent } from '../model-event.js';
import { Attempts, waitOf } from './attempts.js';
import type { Random } from './random.js';
import type { Target } from './target.js';
import type { TargetHealth } from './target-health.js';

type Output = ModelEvent | readonly ModelEvent[];
type Stream = AsyncIterator<Output>;

/** Who says nothing so often is taken at its word: it has begun. */
const MOST_SILENT_BATCHES = 8;

/** What an answer is made with. */
export interface AnswerOptions {
  /** In the order in which they are tried. */
  readonly targets: readonly Target[];
  readonly ask: (target: Target) => AsyncIterable<Output>;
  /** The name that was asked for. */
  readonly model: string;
  readonly signal: AbortSignal;
  readonly health: TargetHealth;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The answer of the first target that begins to answer. Until its first word is there, a failure leads on to the next attempt;
 * from then on the answer is the target's own, with nothing in between.
 */
export class RoutedAnswer implements AsyncIterableIterator<Output> {
  private stream: Stream | null = null;
  private hasBegun = false;

  constructor(private readonly options: AnswerOptions) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Output>> {
    return this.hasBegun && this.stream !== null ? this.stream.next() : this.begin();
  }

  async return(): Promise<IteratorResult<Output>> {
    await this.stream?.return?.();
    return { done: true, value: undefined };
  }

  private async begin(): Promise<IteratorResult<Output>> {
    const { targets, clock, random, signal, health } = this.options;
    const attempts = new Attempts(targets, random);
    for (let attempt = attempts.next(); attempt !== undefined; attempt = attempts.next()) {
      const { target, pauseMs } = attempt;
      if (pauseMs > 0) await clock.sleep(pauseMs, signal);
      signal.throwIfAborted();
      try {
        const opening = await this.open(target);
        health.answered(target);
        return opening;
      } catch (error) {
        signal.throwIfAborted();
        attempts.failed(target, error);
        if (isFaultOfTarget(error)) health.failed(target, waitOf(error));
      }
    }
    throw attempts.error;
  }

  /** Everything up to the first batch with a word in it. */
  private async open(target: Target): Promise<IteratorResult<Output>> {
    const stream = this.options.ask(target)[Symbol.asyncIterator]();
    this.stream = stream;
    const events: ModelEvent[] = [
      { type: 'metadata', provider: target.providerName, model: target.toModel(this.options.model) },
    ];
    for (let batches = 1; ; batches += 1) {
      const result = await stream.next();
      if (result.done === true) throw ModelError.endedEarly();
      const batch = result.value;
      if (!isBatch(batch)) events.push(batch);
      else for (const event of batch) events.push(event);
      if (events.every(isSilent) && batches < MOST_SILENT_BATCHES) continue;
      this.hasBegun = true;
      return { done: false, value: events };
    }
  }
}

/** What a request asks too much of is no sign of ill health. */
function isFaultOfTarget(error: unknown): boolean {
  return !(error instanceof ModelError) || ![400, 413].includes(error.options.status ?? 500);
}

function isBatch(output: Output): output is readonly ModelEvent[] {
  return Array.isArray(output);
}

/** What a model has said nothing with yet. A provider's nonsense is for the assembler to find. */
function isSilent(event: ModelEvent | null | undefined): boolean {
  return event?.type === 'metadata';
}
