import { dropOldest, mayExceed } from '../context/index.js';
import { ApiError, type Item } from '../protocol/index.js';
import type { ModelRoute, Turn } from '../providers/index.js';

/**
 * What of a turn's context its model is given (protocol §9): everything, or with `truncation: "auto"` what fits its window.
 * Throws ApiError 400 `context_length_exceeded` for what does not fit.
 */
export async function fitWindow(turn: Turn, { model, provider }: ModelRoute): Promise<readonly Item[]> {
  const { context: items, settings } = turn;
  const { contextWindow: window } = model;
  if (window === undefined || !mayExceed(window, [settings.instructions, settings.tools, settings.text, ...items])) {
    return items;
  }
  const tokens = await provider.countTokens(turn);
  if (tokens <= window) return items;
  const fitting =
    settings.truncation === 'auto'
      ? await dropOldest({ items, window, tokens, maxOutputTokens: settings.max_output_tokens })
      : undefined;
  if (fitting !== undefined) return fitting;
  throw ApiError.of(
    'context_length_exceeded',
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
    { param: 'input' },
  );
}
