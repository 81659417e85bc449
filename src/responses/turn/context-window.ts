import { Injectable } from '@nestjs/common';

import { dropOldest, holdsMedia, mayExceed } from '../../context/index.js';
import { ApiError, CONTEXT_TOO_LONG, type Item } from '../../protocol/index.js';
import type { ModelRoute, Turn } from '../../providers/index.js';
import { TokenMeter } from './token-meter.js';

/** Holds turns to the windows of their models (protocol §9). */
@Injectable()
export class ContextWindow {
  constructor(private readonly meter: TokenMeter) {}

  /**
   * What of a turn's context its model is given: everything, or with `truncation: "auto"` what fits its window. Throws ApiError
   * 400 `context_length_exceeded` for what does not fit.
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
    // What pictures, sounds and files cost is a guess: whether they fit is for the model to say.
    if (holdsMedia(items)) return items;
    throw ApiError.of('context_length_exceeded', CONTEXT_TOO_LONG, { param: 'input' });
  }
}
