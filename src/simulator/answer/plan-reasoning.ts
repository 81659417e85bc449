import type { ResponseSettings } from '../../protocol/index.js';
import { effortOf } from '../model-catalogue.js';
import { writeWords } from './prose.js';
import type { SeededRandom } from '../seeded-random.js';
import { splitIntoTokens, type TokenPiece } from './token-pieces.js';

/** Synthetic reasoning before the answer. */
export interface PlannedReasoning {
  readonly tokens: number;
  /** Empty if no summary was requested. */
  readonly summary: readonly TokenPiece[];
  /** Synthetic `encrypted_content`. */
  readonly encrypted: string;
}

/** Reasoning tokens per token of the answer, by effort. */
const MULTIPLIERS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 0.5,
  low: 1.5,
  medium: 3,
  high: 6,
  xhigh: 10,
  max: 10,
};

/** Words of summary per hundred reasoning tokens. */
const SUMMARY_PERCENT: Readonly<Record<string, number>> = { concise: 5, auto: 10, detailed: 15 };
const SHORTEST_SUMMARY = 6;
const LONGEST_SUMMARY = 400;

/** Plans the reasoning for an answer of `answerTokens`, up to `limit` tokens; undefined if the model does not reason. */
export function planReasoning(
  settings: ResponseSettings,
  answerTokens: number,
  limit: number,
  random: SeededRandom,
): PlannedReasoning | undefined {
  const tokens = Math.min(limit, Math.ceil(reasoningRatioOf(settings) * answerTokens));
  if (tokens === 0) return undefined;
  return {
    tokens,
    summary: splitIntoTokens(writeSummary(settings.reasoning, tokens, random)),
    encrypted: fakeEncryption(random),
  };
}

/** Tokens of reasoning per token of the answer. */
export function reasoningRatioOf({ model, reasoning }: ResponseSettings): number {
  return MULTIPLIERS[effortOf(model, reasoning?.effort ?? null)] ?? 1;
}

/** The requested kind of summary. */
export function summaryMode(reasoning: ResponseSettings['reasoning']): string | null {
  return reasoning?.summary ?? null;
}

function writeSummary(reasoning: ResponseSettings['reasoning'], tokens: number, random: SeededRandom): string {
  const percent = SUMMARY_PERCENT[summaryMode(reasoning) ?? ''];
  if (percent === undefined) return '';
  const words = Math.round((tokens * percent) / 100);
  return writeWords(random, Math.min(tokens, LONGEST_SUMMARY, Math.max(SHORTEST_SUMMARY, words)));
}

/** Random bytes in base64, for `encrypted_content`. */
export function fakeEncryption(random: SeededRandom): string {
  const bytes = Uint8Array.from({ length: 48 }, () => random.pickInteger(0, 255));
  return Buffer.from(bytes).toString('base64');
}
