import { ModelError } from '../model-error.js';
import type { Turn } from '../turn.js';
import { describeModel } from './model-catalogue.js';

/** Throws ModelError 400 for more input, in tokens, than the model's window holds, unless it may be cut (protocol §9). */
export function refuseTooMuch({ settings }: Turn, input: number): void {
  if (settings.truncation === 'auto' || input <= describeModel(settings.model).contextWindow) return;
  throw new ModelError(
    'context_length_exceeded',
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
    { status: 400, param: 'input' },
  );
}

/** Most tokens that the model may write in a turn. */
export function limitOf({ settings }: Turn): number {
  return Math.min(settings.max_output_tokens ?? Infinity, describeModel(settings.model).maxOutputTokens);
}
