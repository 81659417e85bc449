import { BreakConnectionError, ModelError } from '../providers/index.js';
import { FAULT_KINDS, type FaultKind, type FaultRates } from './names.js';
import type { SeededRandom } from './seeded-random.js';
import { isDelta, type Step } from './step.js';

/** A simulated fault of one turn. */
export interface Fault {
  readonly kind: FaultKind;
  /** Number of deltas before the fault, or fewer if the answer ends first. 0: before any output. */
  readonly after: number;
  /** Duration of what takes time, ms at speed 1. Default: 10 s for a slow start, none for a time-out, no end for others. */
  readonly forMs: number | undefined;
  /** Retry delay of a refusal, whole seconds. */
  readonly retryAfterSeconds: number;
}

const SLOW_START_MS = 10_000;
const MOST_DELTAS_BEFORE = 10;
const LONGEST_RETRY_SECONDS = 5;

/** Kinds that occur in the middle of an answer by default. */
const MID_STREAM: ReadonlySet<FaultKind> = new Set(['stall', 'cut', 'upstream_cut', 'malformed']);

/** Given settings of a fault; the others are drawn. */
export type FaultSettings = Partial<Omit<Fault, 'kind'>>;

/** Creates a fault; settings that are not given are drawn. */
export function drawFault(
  kind: FaultKind,
  { after, forMs, retryAfterSeconds }: FaultSettings,
  random: SeededRandom,
): Fault {
  const usual = MID_STREAM.has(kind) ? random.pickInteger(1, MOST_DELTAS_BEFORE) : 0;
  const seconds = random.pickInteger(1, LONGEST_RETRY_SECONDS);
  return { kind, after: after ?? usual, forMs, retryAfterSeconds: retryAfterSeconds ?? seconds };
}

/** Draws whether a turn has a fault, and of which kind. */
export function drawByRates(rates: FaultRates, settings: FaultSettings, random: SeededRandom): Fault | undefined {
  if (Object.keys(rates).length === 0) return undefined;
  let lot = random.pickFraction();
  for (const kind of FAULT_KINDS) {
    lot -= rates[kind] ?? 0;
    if (lot < 0) return drawFault(kind, settings, random);
  }
  return undefined;
}

/** Whether a fault answers a turn with an error before any output. */
export function refusesAtOnce({ kind, after = 0 }: Pick<Fault, 'kind'> & FaultSettings): boolean {
  return after === 0 && REFUSAL_KINDS.some((refusal) => refusal === kind);
}

/** Inserts a fault into the steps of a turn. */
export function* withFault(steps: Iterable<Step>, fault: Fault, model: string): Generator<Step> {
  let deltas = 0;
  let happened = false;
  for (const step of steps) {
    if (!happened && (deltas >= fault.after || step.type === 'finish')) {
      happened = true;
      yield* HAPPENINGS[fault.kind](fault, model);
    }
    yield step;
    if (isDelta(step)) deltas += 1;
  }
}

/** The error of a refusal. */
export function refusalOf(kind: RefusalKind, model: string, retryAfterSeconds: number): ModelError {
  const { code, status, message } = REFUSALS[kind];
  const retryAfterMs = retryAfterSeconds * 1000;
  const advice = `Please try again in ${retryAfterSeconds}s.`;
  return new ModelError(code, `${message.replace('{model}', () => model)} ${advice}`, { status, retryAfterMs });
}

const REFUSALS = {
  rate_limit: { code: 'rate_limit_exceeded', status: 429, message: 'Rate limit reached for {model}.' },
  server_error: { code: 'server_error', status: 500, message: 'The model {model} had an error.' },
  unavailable: { code: 'server_is_overloaded', status: 503, message: 'The model {model} is overloaded.' },
  timeout: { code: 'server_error', status: 504, message: 'The model {model} did not answer in time.' },
} as const;

/** Kinds of temporary refusals. */
export type RefusalKind = keyof typeof REFUSALS;

/** Kinds of temporary refusals. */
export const REFUSAL_KINDS = Object.keys(REFUSALS) as readonly RefusalKind[];

const HAPPENINGS: Readonly<Record<FaultKind, (fault: Fault, model: string) => Iterable<Step>>> = {
  rate_limit: ({ retryAfterSeconds }, model) => [throwing(refusalOf('rate_limit', model, retryAfterSeconds))],
  server_error: ({ retryAfterSeconds }, model) => [throwing(refusalOf('server_error', model, retryAfterSeconds))],
  unavailable: ({ retryAfterSeconds }, model) => [throwing(refusalOf('unavailable', model, retryAfterSeconds))],
  slow_start: ({ forMs = SLOW_START_MS }) => [{ type: 'pause', ms: forMs }],
  stall: ({ forMs = Infinity }) => [{ type: 'pause', ms: forMs }],
  cut: () => [throwing(new BreakConnectionError())],
  upstream_cut: () => [{ type: 'leave' }],
  malformed: () => [{ type: 'garble' }],
  // A gateway waits for the model before it gives up.
  timeout: ({ forMs = 0, retryAfterSeconds }, model) => [
    { type: 'pause', ms: forMs },
    throwing(refusalOf('timeout', model, retryAfterSeconds)),
  ],
  silence: ({ forMs = Infinity }) => [{ type: 'pause', ms: forMs }],
};

function throwing(error: Error): Step {
  return { type: 'throw', error };
}
