import { ModelError } from '../model-error.js';
import type { ModelSink } from '../model-sink.js';
import { Attempts, waitOf } from './attempts.js';
import { Opening } from './opening.js';
import type { RoutingDependencies } from './routing-dependencies.js';
import type { Target } from './target.js';

/** Parameters of answerByTargets. */
export interface AnswerOptions extends RoutingDependencies {
  /** In order of preference. */
  readonly targets: readonly Target[];
  readonly ask: (target: Target, sink: ModelSink, hasOthers: boolean) => Promise<void>;
  /** The requested model name. */
  readonly model: string;
}

/**
 * Writes the answer of the first target that begins to answer. A failure before its first output leads to the next attempt; later
 * failures are final. Rejects with the most useful error of the attempts.
 */
export async function answerByTargets(options: AnswerOptions, sink: ModelSink): Promise<void> {
  const { targets, ask, model, health, clock } = options;
  const attempts = new Attempts(targets, options);
  let before: Target | null = null;
  for (let attempt = attempts.next(); attempt !== undefined; attempt = attempts.next()) {
    const { target, pauseMs } = attempt;
    if (pauseMs > 0) await clock.sleep(pauseMs, sink.signal);
    if (sink.isClosed) return;
    const kind = before === null ? 'first' : before === target ? 'retry' : 'fallback';
    before = target;
    const opening = new Opening(sink, { target, model, kind, health, clock });
    try {
      await ask(target, opening, attempts.hasOthers);
      if (!opening.hasBegun && !isClosed(sink)) throw ModelError.endedEarly();
      opening.over(null);
      return;
    } catch (error) {
      opening.over(isClosed(sink) ? null : error);
      if (opening.hasBegun || isClosed(sink)) throw error;
      opening.giveUp();
      attempts.failed(target, error);
      if (isTargetFailure(error)) health.failed(target, waitOf(error));
    }
  }
  throw attempts.error;
}

/** Whether an error counts against the health of a target. Statuses 400 and 413 are the request's. */
function isTargetFailure(error: unknown): boolean {
  return !(error instanceof ModelError) || ![400, 413].includes(error.options.status ?? 500);
}

/** Defeats TypeScript's narrowing: the sink may close during an await. */
function isClosed(sink: ModelSink): boolean {
  return sink.isClosed;
}
