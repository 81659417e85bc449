import { isObject, objectsIn } from '../../validation/index.js';
import type { ModelInfo } from '../model-provider.js';

/** A name that is longer is no name of a model. */
const LONGEST_NAME = 256;

/** The answer of `GET /models`; what is no model is left out. Throws for what is no list. */
export function readModels(answer: unknown, provider: string): readonly ModelInfo[] {
  const list = isObject(answer) ? answer.data : answer;
  if (!Array.isArray(list)) throw new Error('the list of models is no list');
  return objectsIn(list).flatMap((model) => {
    const { id, created, owned_by: ownedBy } = model;
    if (typeof id !== 'string' || id === '' || id.length > LONGEST_NAME) return [];
    const contextWindow = readWindow(model);
    return [
      {
        id,
        ownedBy: typeof ownedBy === 'string' ? ownedBy : provider,
        created: Number.isSafeInteger(created) ? (created as number) : 0,
        ...(contextWindow === undefined ? {} : { contextWindow }),
      },
    ];
  });
}

/** Each server calls it something else. */
function readWindow({ meta, ...model }: Readonly<Record<string, unknown>>): number | undefined {
  const inner = isObject(meta) ? meta.n_ctx : undefined;
  const names = ['max_model_len', 'context_length', 'max_context_length', 'context_window'];
  return [inner, ...names.map((name) => model[name])].find(isWindow);
}

function isWindow(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
