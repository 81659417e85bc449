import { matchesGlob } from './routing/index.js';

/** The models that a caller may use, as globs; without a limit it may use all. */
export interface ModelLimit {
  readonly models?: readonly string[];
}

/** Whether a caller may use a model. */
export function mayUseModel({ models }: ModelLimit, model: string): boolean {
  return models === undefined || models.some((glob) => matchesGlob(glob, model));
}
