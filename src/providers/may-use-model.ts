import { matchesGlob } from './routing/index.js';

/** Whether a caller that is limited to models, given as globs, may use one; without a limit it may use all. */
export function mayUseModel({ models }: { readonly models?: readonly string[] }, model: string): boolean {
  return models === undefined || models.some((glob) => matchesGlob(glob, model));
}
