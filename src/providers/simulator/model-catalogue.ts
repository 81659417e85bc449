import type { ModelInfo } from '../model-provider.js';

/** What the simulator knows of a family of models. */
interface ModelFamily {
  /** Matches the names of the family, dated snapshots included. */
  readonly names: RegExp;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly reasoningEfforts: readonly string[];
}

const ALL_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const FAMILIES: readonly ModelFamily[] = [
  { names: /^gpt-[56]/, contextWindow: 400_000, maxOutputTokens: 128_000, reasoningEfforts: ALL_EFFORTS },
  { names: /^gpt-4\.1/, contextWindow: 1_047_576, maxOutputTokens: 32_768, reasoningEfforts: [] },
  { names: /^o\d/, contextWindow: 200_000, maxOutputTokens: 100_000, reasoningEfforts: ['low', 'medium', 'high'] },
  { names: /^simulator$/, contextWindow: 400_000, maxOutputTokens: 128_000, reasoningEfforts: [] },
];

/** Fixed dates, so that the list is the same every day. */
const LISTED: readonly (readonly [id: string, created: number])[] = [
  ['gpt-5', 1_754_524_800],
  ['gpt-5-mini', 1_754_524_800],
  ['gpt-4.1', 1_744_588_800],
  ['gpt-4.1-mini', 1_744_588_800],
  ['o3', 1_744_761_600],
  ['o4-mini', 1_744_761_600],
  ['simulator', 1_735_689_600],
];

const CREATED = new Map(LISTED);
const CREATED_OTHERWISE = 1_735_689_600;

/** The models that `GET /v1/models` shows. */
export function listModels(): readonly ModelInfo[] {
  return LISTED.map(([id]) => describeModel(id));
}

/** Any name is a model here: one of the known families, or a generic one that leaves its efforts open. */
export function describeModel(id: string): ModelInfo {
  const base = { id, ownedBy: 'simulator', created: CREATED.get(id) ?? CREATED_OTHERWISE };
  const family = findFamily(id);
  if (family === undefined) return { ...base, contextWindow: 400_000, maxOutputTokens: 128_000 };
  const { contextWindow, maxOutputTokens, reasoningEfforts } = family;
  return { ...base, contextWindow, maxOutputTokens, reasoningEfforts };
}

/** Whether a model thinks before it answers: the o-series and the families of gpt-5 and gpt-6. */
export function isReasoningModel(id: string): boolean {
  return (findFamily(id)?.reasoningEfforts.length ?? 0) > 0;
}

function findFamily(id: string): ModelFamily | undefined {
  return FAMILIES.find(({ names }) => names.test(id));
}
