import type { ModelInfo } from '../providers/index.js';
import { RecentMap } from '../recent-map.js';
import type { Latency } from './latency.js';

/** A model with known limits. */
export type SimulatedModel = ModelInfo & Required<Pick<ModelInfo, 'contextWindow' | 'maxOutputTokens'>>;

/** Properties of a family of models. */
interface ModelFamily {
  /** Matches the names of the family, including future ones. */
  readonly names: RegExp;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  /** Supported efforts; empty if it does not reason, undefined if any effort is accepted and the default is `none`. */
  readonly reasoningEfforts: readonly string[] | undefined;
  readonly latency: Latency;
  /** False for generations before GPT-5: clients see what they get of a model that cannot be steered. */
  readonly steerable?: boolean;
}

const O_SERIES = {
  contextWindow: 200_000,
  maxOutputTokens: 100_000,
  reasoningEfforts: ['low', 'medium', 'high'],
  steerable: false,
};
const GPT_5 = { contextWindow: 400_000, maxOutputTokens: 128_000 };
const GPT_5_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high'];
const GPT_4_1 = { contextWindow: 1_047_576, maxOutputTokens: 32_768, reasoningEfforts: [], steerable: false };

/** Latencies by size of the model. */
const LARGE: Latency = { firstTokenMs: 900, perTokenMs: 22, spread: 0.35 };
const MEDIUM: Latency = { firstTokenMs: 550, perTokenMs: 14, spread: 0.35 };
const SMALL: Latency = { firstTokenMs: 350, perTokenMs: 8, spread: 0.35 };
const TINY: Latency = { firstTokenMs: 220, perTokenMs: 5, spread: 0.35 };

/** The first match applies. */
const FAMILIES: readonly ModelFamily[] = [
  { ...O_SERIES, names: /^o\d+-mini\b/, latency: SMALL },
  { ...O_SERIES, names: /^o\d+-pro\b/, latency: LARGE },
  { ...O_SERIES, names: /^o\d/, latency: MEDIUM },
  { ...GPT_4_1, names: /^gpt-4\.1-nano\b/, latency: TINY },
  { ...GPT_4_1, names: /^gpt-4\.1-mini\b/, latency: SMALL },
  { ...GPT_4_1, names: /^gpt-4\.1/, latency: MEDIUM },
  { ...GPT_5, names: /^gpt-5-nano\b/, reasoningEfforts: GPT_5_EFFORTS, latency: TINY },
  { ...GPT_5, names: /^gpt-5-mini\b/, reasoningEfforts: GPT_5_EFFORTS, latency: SMALL },
  { ...GPT_5, names: /^gpt-5(?:\.1)?(?!\.)\b/, reasoningEfforts: GPT_5_EFFORTS, latency: MEDIUM },
  { ...GPT_5, names: /^gpt-5\.2/, reasoningEfforts: [...GPT_5_EFFORTS, 'xhigh'], latency: MEDIUM },
  { ...GPT_5, names: /^gpt-[5-9]/, reasoningEfforts: [...GPT_5_EFFORTS, 'xhigh', 'max'], latency: MEDIUM },
];

/** For all other names. */
const GENERIC: Omit<ModelFamily, 'names'> = { ...GPT_5, reasoningEfforts: undefined, latency: MEDIUM };

/** Listed models with fixed `created` dates, Unix seconds. */
const LISTED = new Map([
  ['gpt-5.2', 1_765_324_800],
  ['gpt-5.1', 1_762_992_000],
  ['gpt-5', 1_754_524_800],
  ['gpt-5-mini', 1_754_524_800],
  ['gpt-5-nano', 1_754_524_800],
  ['gpt-4.1', 1_744_588_800],
  ['gpt-4.1-mini', 1_744_588_800],
  ['gpt-4.1-nano', 1_744_588_800],
  ['o4-mini', 1_744_761_600],
  ['o3', 1_744_761_600],
  ['o3-mini', 1_738_281_600],
  ['o1', 1_734_393_600],
  ['simulator', 1_735_689_600],
]);

const CREATED_OTHERWISE = 1_735_689_600;

/** The models for `GET /v1/models`. */
export function listModels(): readonly ModelInfo[] {
  return [...LISTED.keys()].map(describeModel);
}

/** Whether a model or its dated snapshot, such as `gpt-5-2025-08-07`, is listed. */
export function isListed(id: string): boolean {
  return LISTED.has(withoutDate(id));
}

/** Models that were described: a turn asks several times, and each time matches the names of all families. */
const described = new RecentMap<SimulatedModel>(100);

/** Describes a model by its family; unknown models accept any effort. */
export function describeModel(id: string): SimulatedModel {
  const known = described.get(id);
  if (known !== undefined) return known;
  const model = describeAnew(id);
  described.set(id, model);
  return model;
}

function describeAnew(id: string): SimulatedModel {
  const { contextWindow, maxOutputTokens, reasoningEfforts, steerable = true } = findFamily(id);
  const reasons = reasoningEfforts?.length !== 0;
  return {
    id,
    ownedBy: 'simulator',
    created: LISTED.get(withoutDate(id)) ?? CREATED_OTHERWISE,
    contextWindow,
    maxOutputTokens,
    steerable,
    ...(reasoningEfforts === undefined ? {} : { reasoningEfforts }),
    ...(reasons ? { defaultReasoningEffort: effortOf(id, null) } : {}),
  };
}

/** The realistic latency of a model. */
export function latencyOf(id: string): Latency {
  return findFamily(id).latency;
}

/** The effective effort. The o-series and GPT-5 default to `medium`, models without reasoning always use `none`. */
export function effortOf(id: string, asked: string | null): string {
  const { reasoningEfforts } = findFamily(id);
  if (reasoningEfforts === undefined) return asked ?? 'none';
  return reasoningEfforts.length === 0 ? 'none' : (asked ?? 'medium');
}

function withoutDate(id: string): string {
  return id.replace(/-\d{4}-\d{2}-\d{2}$/, '');
}

function findFamily(id: string): Omit<ModelFamily, 'names'> {
  return FAMILIES.find(({ names }) => names.test(id)) ?? GENERIC;
}
