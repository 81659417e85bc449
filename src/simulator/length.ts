import type { ResponseSettings } from '../protocol/index.js';
import type { SeededRandom } from './seeded-random.js';

/**
 * How many tokens the text of an answer has: `request` goes by the request, `fromTokens` to `toTokens` are equally likely, and a
 * median has a log-normal distribution around it.
 */
export type LengthSetting =
  | 'request'
  | { readonly fromTokens: number; readonly toTokens: number }
  /** `spread` is the standard deviation of the logarithm; with 0.5, half of the lengths are within a factor of 1.4. */
  | { readonly medianTokens: number; readonly spread: number };

/** More than any model writes. */
const MOST_TOKENS = 999_999;

/** The share of `max_output_tokens` that `request` uses, by `text.verbosity`. */
const SHARES: Readonly<Record<string, number>> = { low: 0.25, medium: 0.5, high: 1 };

/** What `parseLength` reads, but for the order of a range; or nothing. */
export const LENGTH = /^(?:|request|([1-9]\d{0,5})(?:-([1-9]\d{0,5})|\/(\d(?:\.\d{1,9})?))?)$/;

/** The forms of a length, for messages. */
export const LENGTH_FORMS =
  'a number of tokens such as 500, a range such as 200-800, median/spread such as 500/0.5, or request';

/** Parses `500`, `200-800`, `500/0.5` or `request`; undefined if invalid. */
export function parseLength(text: string): LengthSetting | undefined {
  if (text === 'request') return text;
  const [, first, last, spread] = LENGTH.exec(text) ?? [];
  const [from, to] = [Number(first), Number(last ?? first)];
  if (first === undefined || from > to) return undefined;
  return spread === undefined ? { fromTokens: from, toTokens: to } : { medianTokens: from, spread: Number(spread) };
}

/**
 * The tokens of a text; null if `request` finds no `max_output_tokens`. `reasoningRatio`: tokens of reasoning per token of the text,
 * which are part of `max_output_tokens` and of no other length.
 */
export function drawLength(
  length: LengthSetting,
  { max_output_tokens: most, text }: ResponseSettings,
  reasoningRatio: number,
  random: SeededRandom,
): number | null {
  if (length !== 'request') return Math.min(MOST_TOKENS, Math.max(1, drawTokens(length, random)));
  if (most === null) return null;
  const share = SHARES[text.verbosity ?? 'medium'] ?? 0.5;
  return Math.max(1, Math.floor((share * most) / (1 + reasoningRatio)));
}

function drawTokens(length: Exclude<LengthSetting, 'request'>, random: SeededRandom): number {
  if ('fromTokens' in length) return random.pickInteger(length.fromTokens, length.toTokens);
  return Math.round(length.medianTokens * Math.exp(length.spread * random.pickNormal()));
}
