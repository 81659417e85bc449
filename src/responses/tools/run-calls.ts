import type { ModelEvent } from '../../providers/index.js';
import type { Clock } from '../../time/index.js';
import type { ToolRun } from '../turn/turn-observer.js';

/** How calls are run. */
export interface RunOptions {
  /** Most calls at once. */
  readonly parallel: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** A sign of life is given after this time, ms: a slow tool is no silent model. 0: none is needed. */
  readonly signOfLifeMs: number;
  /** Resolves once the events so far would be found by another process: only then a call is sent. */
  readonly stored: () => Promise<void>;
}

/** What calls of one kind write, and how one is made. `key` names the item of a call among the events. */
export interface CallKind<Call, Outcome> {
  open(call: Call, key: string): readonly ModelEvent[];
  /** Resolves with an outcome also for a call that has failed; rejects only with the reason of the turn's signal. */
  make(call: Call): Promise<Outcome>;
  close(call: Call, key: string, outcome: Outcome): readonly ModelEvent[];
}

/** No model was asked. */
export const NO_TOKENS: ModelEvent = { type: 'usage', input: 0, output: 0 };

/** The end of a pass that a policy has answered. */
export const FINISH: ModelEvent = { type: 'finish', reason: 'stop' };

/** A sign of life. */
export const ALIVE: readonly ModelEvent[] = [];

/**
 * Runs calls side by side. The item of a call is written, and stored, before the call is made: who goes on after a crash knows what may have
 * been sent. `after`: what comes with the end of the last one.
 */
export async function* runCalls<Call, Outcome>(
  calls: readonly Call[],
  kind: CallKind<Call, Outcome>,
  options: RunOptions,
  after: readonly ModelEvent[] = [],
): AsyncGenerator<readonly ModelEvent[]> {
  const { parallel, stored } = options;
  const running = new Map<number, Promise<{ readonly index: number; readonly outcome: Outcome }>>();
  let begun = 0;
  while (begun < calls.length || running.size > 0) {
    const from = begun;
    const starting = calls.slice(from, from + parallel - running.size);
    begun += starting.length;
    if (starting.length > 0) {
      yield starting.flatMap((call, offset) => kind.open(call, keyOf(from + offset)));
      await stored();
      for (const [offset, call] of starting.entries()) {
        const index = from + offset;
        running.set(
          index,
          kind.make(call).then((outcome) => ({ index, outcome })),
        );
      }
    }
    const ended = await untilAlive(firstOf(running), options);
    if (ended === undefined) {
      yield ALIVE;
      continue;
    }
    running.delete(ended.index);
    const call = calls[ended.index];
    const isLast = begun === calls.length && running.size === 0;
    if (call !== undefined) yield [...kind.close(call, keyOf(ended.index), ended.outcome), ...(isLast ? after : [])];
  }
}

/** Makes a call and reports it: when it was made, how long it took, and the type of the error that it has ended with, if any. */
export async function reported<Outcome>(
  call: Pick<ToolRun, 'callId' | 'name' | 'server'>,
  { clock, ran }: { readonly clock: Clock; readonly ran: (run: ToolRun) => void },
  make: () => Promise<Outcome>,
  errorTypeOf: (outcome: Outcome) => string | null,
): Promise<Outcome> {
  const startedAt = clock.now();
  let errorType: string | null = 'aborted';
  try {
    const outcome = await make();
    errorType = errorTypeOf(outcome);
    return outcome;
  } finally {
    ran({ ...call, startedAt, durationMs: clock.now() - startedAt, errorType });
  }
}

/** Waits for a promise; undefined when it is time for a sign of life. */
export function untilAlive<T>(
  promise: Promise<T>,
  { clock, signOfLifeMs }: Pick<RunOptions, 'clock' | 'signOfLifeMs'>,
): Promise<T | undefined> {
  if (signOfLifeMs === 0) return promise;
  return new Promise((resolve, reject) => {
    const timer = clock.schedule(signOfLifeMs, () => resolve(undefined));
    const settle = <V>(end: (value: V) => void): ((value: V) => void) => {
      return (value) => {
        timer.cancel();
        end(value);
      };
    };
    promise.then(settle(resolve), settle(reject));
  });
}

function firstOf<T>(running: ReadonlyMap<number, Promise<T>>): Promise<T> {
  const [only] = running.values();
  return running.size === 1 && only !== undefined ? only : Promise.race(running.values());
}

/** An event of an item's own. `name` without `response.`. */
export function toEvent(key: string, name: string, members: object = {}): ModelEvent {
  return { type: 'item.event', key, event: { type: `response.${name}`, ...members } };
}

function keyOf(index: number): string {
  return `call ${index}`;
}
