import { isObject, objectsIn } from '../../validation/index.js';
import type { ModelInfo } from '../model-provider.js';

/** Characters of a model name; models with longer names are omitted. */
const LONGEST_NAME = 256;

/** An entry of a model list. */
export interface ListedModel {
  readonly info: ModelInfo;
  /** The entry as the server lists it. */
  readonly entry: Readonly<Record<string, unknown>>;
}

/**
 * The models in the answer of `GET /models`: a list, alone or as `data`, or `models` as servers for Codex have it. Invalid entries are
 * omitted. Throws an Error if there is no list.
 */
export function readModels(answer: unknown, provider: string): readonly ListedModel[] {
  return objectsIn(findList(answer)).flatMap((entry) => {
    const { created, owned_by: ownedBy } = entry;
    const id = entry.id ?? entry.slug;
    if (typeof id !== 'string' || id === '' || id.length > LONGEST_NAME) return [];
    const contextWindow = readWindow(entry);
    const info: ModelInfo = {
      id,
      ownedBy: typeof ownedBy === 'string' ? ownedBy : provider,
      created: Number.isSafeInteger(created) ? (created as number) : 0,
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...readEfforts(entry),
    };
    return [{ info, entry }];
  });
}

/** Servers for Codex have both lists, and may leave `data` empty. */
function findList(answer: unknown): readonly unknown[] {
  if (Array.isArray(answer)) return answer;
  const lists = isObject(answer) ? [answer.data, answer.models].filter((list) => Array.isArray(list)) : [];
  const [first] = lists;
  if (first === undefined) throw new Error('the answer has no list of models');
  return lists.find(({ length }) => length > 0) ?? first;
}

/** The context window, whose member differs from server to server. */
function readWindow({ meta, ...model }: Readonly<Record<string, unknown>>): number | undefined {
  const inner = isObject(meta) ? meta.n_ctx : undefined;
  const names = ['max_model_len', 'context_length', 'max_context_length', 'context_window'];
  return [inner, ...names.map((name) => model[name])].find(isWindow);
}

function isWindow(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** What the lists of servers for Codex say of reasoning. */
function readEfforts({
  supported_reasoning_levels: levels,
  default_reasoning_level: level,
}: Readonly<Record<string, unknown>>): Pick<ModelInfo, 'reasoningEfforts' | 'defaultReasoningEffort'> {
  if (!Array.isArray(levels)) return {};
  const efforts = levels
    .map((entry: unknown) => (isObject(entry) ? entry.effort : entry))
    .filter((effort) => typeof effort === 'string');
  const hasDefault = typeof level === 'string' && efforts.includes(level);
  return { reasoningEfforts: efforts, ...(hasDefault ? { defaultReasoningEffort: level } : {}) };
}
