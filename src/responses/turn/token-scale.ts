import { Injectable } from '@nestjs/common';

import { dropOldest } from '../../context/index.js';
import type { Item } from '../../protocol/index.js';
import { ModelError, type ModelRoute, type Turn } from '../../providers/index.js';
import { TokenMeter } from './token-meter.js';

/** How far a count has to go, and what stops it. */
interface Limits {
  readonly signal: AbortSignal;
  readonly limit: number;
}

/** An upstream counts a context of so many limits at most: it is asked about the latest part of a longer one. */
const MOST_LIMITS = 4;

/** How long a turn waits for its upstream to count, ms: the estimate will do. */
const PATIENCE_MS = 5000;

/**
 * Counts the tokens of turns as the tokenizer of their model does, where the provider has one. It is asked once per turn, about the whole
 * context; all other counts of the turn are estimates to that scale. Elsewhere, and where it fails, they are plain estimates.
 */
@Injectable()
export class TokenScale {
  /** By the parameters of a turn, which all its passes share, unlike its settings: tokens of the model per estimated token. */
  private readonly scales = new WeakMap<Turn['parameters'], Promise<number>>();

  constructor(private readonly meter: TokenMeter) {}

  /**
   * Input tokens of a turn, or of another question about its context, to the scale of the turn; beyond `limit`, some number above it.
   * Rejects only when the signal aborts.
   */
  async countInput(turn: Turn, route: ModelRoute, { signal, limit }: Limits, scaled: Turn = turn): Promise<number> {
    const scale = await this.scaleOf(scaled, route, { signal, limit });
    return Math.ceil(scale * (await this.meter.countInput(route.provider, turn, { signal, limit: limit / scale })));
  }

  /** Tokens of some items alone, in the same way if the input of their turn was counted before; otherwise estimated. */
  async countItems(turn: Turn, route: ModelRoute, items: readonly Item[], { signal, limit }: Limits): Promise<number> {
    const scale = (await this.scales.get(turn.parameters)) ?? 1;
    return Math.ceil(scale * (await route.provider.countContextTokens(items, { signal, limit: limit / scale })));
  }

  private scaleOf(turn: Turn, route: ModelRoute, limits: Limits): Promise<number> {
    const { parameters } = turn;
    const known = this.scales.get(parameters);
    if (known !== undefined) return known;
    const scale = this.ask(turn, route, limits);
    this.scales.set(parameters, scale);
    // Only what was asked before is aborted when a turn is steered.
    scale.catch(() => this.scales.delete(parameters));
    return scale;
  }

  private async ask(turn: Turn, route: ModelRoute, { signal, limit }: Limits): Promise<number> {
    const { provider } = route;
    if (!provider.hasTokenizer) return 1;
    const most = MOST_LIMITS * limit;
    const estimate = (asked: Turn): Promise<number> => this.meter.countInput(provider, asked, { signal, limit: most });
    let asked = turn;
    let estimated = await estimate(turn);
    if (estimated > most) {
      const latest = await dropOldest({
        items: turn.context,
        window: most,
        maxOutputTokens: null,
        approvalsFrom: 0,
        countInput: (context) => estimate({ ...turn, context }),
        count: (items, end) => provider.countContextTokens(items, { signal, limit: end }),
      });
      if (latest === undefined) return 1;
      asked = { ...turn, context: latest };
      estimated = await estimate(asked);
    }
    const counted = await this.askUpstream(asked, route, signal);
    return counted > 0 && estimated > 0 ? counted / estimated : 1;
  }

  /** 0 where the upstream does not count. */
  private async askUpstream(turn: Turn, { provider }: ModelRoute, signal: AbortSignal): Promise<number> {
    try {
      return await this.meter.countInput(provider, turn, { signal, exact: true, limitMs: PATIENCE_MS });
    } catch (error) {
      signal.throwIfAborted();
      // The provider has logged it.
      if (error instanceof ModelError) return 0;
      throw error;
    }
  }
}
