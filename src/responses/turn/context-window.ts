import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { approvalsOpenFrom, dropOldest, holdsMedia, mayExceed } from '../../context/index.js';
import { ApiError, CONTEXT_TOO_LONG, type Item } from '../../protocol/index.js';
import type { ModelRoute, Turn } from '../../providers/index.js';
import { Clock } from '../../time/index.js';
import { compactionOf } from './compaction-request.js';
import { TokenMeter } from './token-meter.js';
import { TokenScale } from './token-scale.js';

/** Fits turns into the context windows of their models (protocol §9). */
@Injectable()
export class ContextWindow {
  constructor(
    private readonly meter: TokenMeter,
    private readonly scale: TokenScale,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

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
    const isScaled = turn.settings.truncation === 'auto' || compactionOf(turn) !== null;
    const fitting = await this.fitting(turn, route, signal, isScaled);
    if (fitting !== undefined) return fitting;
    // Token counts of images, audio and files are guesses, so the model decides.
    if (holdsMedia(turn.context)) return turn.context;
    throw ApiError.of('context_length_exceeded', CONTEXT_TOO_LONG, { param: 'input' });
  }

  /**
   * The context that fits, as `fit` makes it; undefined when nothing fits. Counts no more than it needs to, and with `isScaled` as the tokenizer of the model does.
   */
  async fitting(
    turn: Turn,
    route: ModelRoute,
    signal: AbortSignal,
    isScaled = false,
  ): Promise<readonly Item[] | undefined> {
    const { context: items, settings } = turn;
    const { model, provider } = route;
    const { contextWindow: window } = model;
    if (window === undefined || this.fitsAnyway(turn, route)) return items;
    const countInput = (context: readonly Item[], limit: number): Promise<number> => {
      const asked = { ...turn, context };
      if (isScaled) return this.scale.countInput(asked, route, { signal, limit });
      return this.meter.countInput(provider, asked, { signal, limit });
    };
    if ((await countInput(items, window)) <= window) return items;
    if (settings.truncation !== 'auto') return undefined;
    const count = (some: readonly Item[], limit: number): Promise<number> =>
      isScaled
        ? this.scale.countItems(turn, route, some, { signal, limit })
        : provider.countContextTokens(some, { signal, limit });
    return dropOldest({
      items,
      window,
      maxOutputTokens: settings.max_output_tokens,
      approvalsFrom: approvalsOpenFrom(this.clock, this.environment),
      countInput,
      count,
    });
  }
}
