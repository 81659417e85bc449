import type { ResponseSettings } from '../../protocol/index.js';
import { effortOf } from '../model-catalogue.js';
import { writeWords } from './prose.js';
import type { SeededRandom } from '../seeded-random.js';
import { splitIntoTokens, type TokenPiece } from './token-pieces.js';

/** What the model thinks before it answers. */
export interface Reasoning {
  readonly tokens: number;
  /** Empty where no summary was asked for. */
  readonly summary: readonly TokenPiece[];
  /** Stands for the thoughts themselves; only the model that wrote it could read it. */
  readonly encrypted: string;
}

/** Tokens of thought for each token of the answer. */
const MULTIPLIERS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 0.5,
  low: 1.5,
  medium: 3,
  high: 6,
  xhigh: 10,
  max: 10,
};

/** Words of summary for a hundred tokens of thought. */
const SUMMARY_PERCENT: Readonly<Record<string, number>> = { concise: 5, auto: 10, detailed: 15 };
const SHORTEST_SUMMARY = 6;
const LONGEST_SUMMARY = 400;

/** The thoughts that go with an answer of so many tokens, no more than `limit`; undefined where the model has none. */
export function planReasoning(
  settings: ResponseSettings,
  answerTokens: number,
  limit: number,
  random: SeededRandom,
): Reasoning | undefined {
  const multiplier = MULTIPLIERS[effortOf(settings.model, settings.reasoning?.effort ?? null)] ?? 1;
  const tokens = Math.min(limit, Math.ceil(multiplier * answerTokens));
  if (tokens === 0) return undefined;
  return {
    tokens,
    summary: splitIntoTokens(writeSummary(settings.reasoning, tokens, random)),
    encrypted: fakeEncryption(random),
  };
}

/** The kind of summary that is asked for. */
export function summaryMode(reasoning: ResponseSettings['reasoning']): string | null {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the older name, which clients still send
  return reasoning?.summary ?? reasoning?.generate_summary ?? null;
}

function writeSummary(reasoning: ResponseSettings['reasoning'], tokens: number, random: SeededRandom): string {
  const percent = SUMMARY_PERCENT[summaryMode(reasoning) ?? ''];
  if (percent === undefined) return '';
  const words = Math.round((tokens * percent) / 100);
  return writeWords(random, Math.min(tokens, LONGEST_SUMMARY, Math.max(SHORTEST_SUMMARY, words)));
}

/** What looks like encrypted thoughts. */
export function fakeEncryption(random: SeededRandom): string {
  const bytes = Uint8Array.from({ length: 48 }, () => random.pickInteger(0, 255));
  return Buffer.from(bytes).toString('base64');
}
