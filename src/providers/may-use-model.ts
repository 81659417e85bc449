import { ApiError } from '../protocol/index.js';
import { matchesGlob } from './routing/index.js';

/** The models that a caller may use, as globs; without a limit it may use all. */
export interface ModelLimit {
  readonly models?: readonly string[];
}

/** Whether a caller may use a model. */
export function mayUseModel({ models }: ModelLimit, model: string): boolean {
  return models === undefined || models.some((glob) => matchesGlob(glob, model));
}

/** Throws ApiError 403 `model_not_allowed` unless a caller may use a model. */
export function requireModel(caller: ModelLimit, model: string): void {
  if (mayUseModel(caller, model)) return;
  throw ApiError.of('model_not_allowed', `Your API key does not have access to the model '${model}'.`, {
    param: 'model',
  });
}
