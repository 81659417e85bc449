import { isObject, objectsIn } from '../../../validation/index.js';
import type { ModelInfo } from '../../model-provider.js';
import { type Lacking, readLacking, readTextOnly } from './read-lacking.js';

/** Characters of a model name; models with longer names are omitted. */
const LONGEST_NAME = 256;

/** An entry of a model list. */
export interface ListedModel {
  readonly info: ModelInfo;
  /** What the list says that the model cannot read; empty if it says nothing. */
  readonly lacking: Lacking;
}

/** The models in the answer of `GET /models`; invalid entries are omitted. Throws an Error if there is no list. */
export function readModels(answer: unknown, provider: string): readonly ListedModel[] {
  const list = isObject(answer) ? answer.data : answer;
  if (!Array.isArray(list)) throw new Error('the answer has no list of models');
  const textOnly = readTextOnly(answer);
  return objectsIn(list).flatMap((model) => {
    const { id, created, owned_by: ownedBy } = model;
    if (typeof id !== 'string' || id === '' || id.length > LONGEST_NAME) return [];
    const contextWindow = readWindow(model);
    const info: ModelInfo = {
      id,
      ownedBy: typeof ownedBy === 'string' ? ownedBy : provider,
      created: Number.isSafeInteger(created) ? (created as number) : 0,
      ...(contextWindow === undefined ? {} : { contextWindow }),
    };
    return [{ info, lacking: textOnly.get(id) ?? readLacking(model) }];
  });
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
