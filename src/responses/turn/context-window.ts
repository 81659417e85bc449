import { Injectable } from '@nestjs/common';

import { dropOldest, holdsMedia, mayExceed } from '../../context/index.js';
import { ApiError, CONTEXT_TOO_LONG, type Item } from '../../protocol/index.js';
import type { ModelRoute, Turn } from '../../providers/index.js';
import { TokenMeter } from './token-meter.js';

/** Fits turns into the context windows of their models (protocol §9). */
@Injectable()
export class ContextWindow {
  constructor(private readonly meter: TokenMeter) {}

  /**
   * The context for the model: everything, or with `truncation: "auto"` what fits its window. Throws ApiError 400
   * `context_length_exceeded` otherwise.
   */
  async fit(turn: Turn, { model, provider }: ModelRoute): Promise<readonly Item[]> {
    const { context: items, settings } = turn;
    const { contextWindow: window } = model;
    if (window === undefined || !mayExceed(window, [settings.instructions, settings.tools, settings.text, ...items])) {
      return items;
    }
    const tokens = await this.meter.countInput(provider, turn);
    if (tokens <= window) return items;
    const isAuto = settings.truncation === 'auto';
    const maxOutputTokens = settings.max_output_tokens;
    const count = (some: readonly Item[]): Promise<number> => provider.countContextTokens(some);
    const fitting = isAuto ? await dropOldest({ items, window, tokens, maxOutputTokens, count }) : undefined;
    if (fitting !== undefined) return fitting;
    // Token counts of images, audio and files are guesses, so the model decides.
    if (holdsMedia(items)) return items;
    throw ApiError.of('context_length_exceeded', CONTEXT_TOO_LONG, { param: 'input' });
  }
}
