import type { SeededRandom } from './seeded-random.js';
import { isDelta, type Step } from './step.js';

/** Latency of a model. */
export interface Latency {
  /** Median time to the first token, ms. */
  readonly firstTokenMs: number;
  /** Median time between two tokens, ms. */
  readonly perTokenMs: number;
  /** Standard deviation of the logarithm of both. 0: always the median; 0.3: mostly within a factor of two. */
  readonly spread: number;
}

/** `instant`: no pauses; `realistic`: the latency of the model in the catalogue; or custom medians. */
export type LatencySetting = 'instant' | 'realistic' | Latency;

const CUSTOM_SPREAD = 0.3;
const NUMBER = String.raw`(\d{1,9}(?:\.\d{1,9})?)`;
const CUSTOM = new RegExp(`^${NUMBER}/${NUMBER}(?:/${NUMBER})?$`);

/** Parses `instant`, `realistic`, `first/between` or `first/between/spread` with medians in ms; undefined if invalid. */
export function parseLatency(text: string): LatencySetting | undefined {
  if (text === 'instant' || text === 'realistic') return text;
  const [, first, between, spread] = CUSTOM.exec(text) ?? [];
  if (first === undefined || between === undefined) return undefined;
  return {
    firstTokenMs: Number(first),
    perTokenMs: Number(between),
    spread: spread === undefined ? CUSTOM_SPREAD : Number(spread),
  };
}

/** Inserts pauses between steps. Their durations are log-normal, roughly as in real services. */
export function* withLatency(steps: Iterable<Step>, latency: Latency, random: SeededRandom): Generator<Step> {
  const draw = (median: number): number => (median === 0 ? 0 : median * Math.exp(latency.spread * random.pickNormal()));
  let waited = false;
  for (const step of steps) {
    if (!waited) yield { type: 'pause', ms: draw(latency.firstTokenMs) };
    else if (step.type === 'think') yield { type: 'pause', ms: step.tokens * draw(latency.perTokenMs) };
    else if (isDelta(step)) yield { type: 'pause', ms: draw(latency.perTokenMs) };
    waited = true;
    yield step;
  }
}
