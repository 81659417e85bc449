import type { Turn } from '../providers/index.js';
import { describeModel } from './model-catalogue.js';

/** Maximum output tokens of a turn, by the request and the model. */
export function limitOf({ settings }: Turn): number {
  return Math.min(settings.max_output_tokens ?? Infinity, describeModel(settings.model).maxOutputTokens);
}
