import type { Turn } from '../providers/index.js';
import { describeModel } from './model-catalogue.js';

/** Most tokens that the model may write in a turn. */
export function limitOf({ settings }: Turn): number {
  return Math.min(settings.max_output_tokens ?? Infinity, describeModel(settings.model).maxOutputTokens);
}
