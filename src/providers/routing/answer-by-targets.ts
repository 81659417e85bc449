import type { Clock } from '../../time/index.js';
import { ModelError } from '../model-error.js';
import type { ModelSink } from '../model-sink.js';
import { Attempts, waitOf } from './attempts.js';
import { Opening } from './opening.js';
import type { Random } from './random.js';
import type { Target } from './target.js';
import type { TargetHealth } from './target-health.js';

/** What an answer is made with. */
export interface AnswerOptions {
  /** In the order in which they are tried. */
  readonly targets: readonly Target[];
  readonly ask: (target: Target, sink: ModelSink) => Promise<void>;
  /** The name that was asked for. */
  readonly model: string;
  readonly health: TargetHealth;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Writes the answer of the first target that begins to answer. Until its first word is there, a failure leads on to the next
 * attempt; from then on the answer is the target's own. Rejects with what the last attempt failed with.
 */
export async function answerByTargets(options: AnswerOptions, sink: ModelSink): Promise<void> {
  const { targets, ask, model, health, clock, random } = options;
  const attempts = new Attempts(targets, random);
  for (let attempt = attempts.next(); attempt !== undefined; attempt = attempts.next()) {
    const { target, pauseMs } = attempt;
    if (pauseMs > 0) await clock.sleep(pauseMs, sink.signal);
    if (sink.isClosed) return;
    const opening = new Opening(sink, target, model, health);
    try {
      await ask(target, opening);
      if (opening.hasBegun || isClosed(sink)) return;
      throw ModelError.endedEarly();
    } catch (error) {
      if (opening.hasBegun || isClosed(sink)) throw error;
      opening.giveUp();
      attempts.failed(target, error);
      if (isTargetFailure(error)) health.failed(target, waitOf(error));
    }
  }
  throw attempts.error;
}

/** What a request asks too much of is no sign of ill health. */
function isTargetFailure(error: unknown): boolean {
  return !(error instanceof ModelError) || ![400, 413].includes(error.options.status ?? 500);
}

/** Asked anew each time: while we waited, it may have changed. */
function isClosed(sink: ModelSink): boolean {
  return sink.isClosed;
}
