import { Injectable } from '@nestjs/common';

import { dropOldest, holdsMedia, mayExceed } from '../../context/index.js';
import { ApiError, CONTEXT_TOO_LONG, type Item } from '../../protocol/index.js';
import type { ModelRoute, Turn } from '../../providers/index.js';
import { TokenMeter } from './token-meter.js';

/** Fits turns into the context windows of their models (protocol §9). */
@Injectable()
export class ContextWindow {
  constructor(private readonly meter: TokenMeter) {}

  /** Whether a context certainly fits: nothing needs to be counted. */
  fitsAnyway({ context, settings }: Turn, { model: { contextWindow: window } }: ModelRoute): boolean {
    return (
      window === undefined || !mayExceed(window, [settings.instructions, settings.tools, settings.text, ...context])
    );
  }

  /**
   * The context for the model: everything, or with `truncation: "auto"` what fits its window. Throws ApiError 400
   * `context_length_exceeded` otherwise, and the reason of the signal when it aborts.
   */
  async fit(turn: Turn, route: ModelRoute, signal: AbortSignal): Promise<readonly Item[]> {
    const fitting = await this.fitting(turn, route, signal);
    if (fitting !== undefined) return fitting;
    // Token counts of images, audio and files are guesses, so the model decides.
    if (holdsMedia(turn.context)) return turn.context;
    throw ApiError.of('context_length_exceeded', CONTEXT_TOO_LONG, { param: 'input' });
  }

  /** The same; undefined when nothing fits. Counts no more than it needs to. */
  async fitting(turn: Turn, route: ModelRoute, signal: AbortSignal): Promise<readonly Item[] | undefined> {
    const { context: items, settings } = turn;
    const { model, provider } = route;
    const { contextWindow: window } = model;
    if (window === undefined || this.fitsAnyway(turn, route)) return items;
    const countInput = (context: readonly Item[], limit: number): Promise<number> =>
      this.meter.countInput(provider, { ...turn, context }, { signal, limit });
    if ((await countInput(items, window)) <= window) return items;
    if (settings.truncation !== 'auto') return undefined;
    const count = (some: readonly Item[], limit: number): Promise<number> =>
      provider.countContextTokens(some, { signal, limit });
    return dropOldest({ items, window, maxOutputTokens: settings.max_output_tokens, countInput, count });
  }
}
