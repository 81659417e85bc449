import { Injectable, Logger } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import { isTokenCount, type Item, type TokenCounts } from '../../protocol/index.js';
import {
  countItemTokens,
  type CountOptions,
  countSettingsTokens,
  estimateItemTokens,
  ModelError,
  type ModelProviderBase,
  type Turn,
} from '../../providers/index.js';
import { Clock, untilAborted } from '../../time/index.js';

/** How far a count has to go, and what stops it. */
interface Stoppable extends CountOptions {
  readonly signal: AbortSignal;
  /** How long the provider may take, ms; MODEL_IDLE_TIMEOUT_MS by default. */
  readonly limitMs?: number;
}

const TOO_SLOW = 'the provider did not count in time';

/** Counts tokens with the provider, or estimates them when it fails, times out, or returns an invalid count. */
@Injectable()
export class TokenMeter {
  private readonly outages = new OutageLog(new Logger('TokenMeter'));

  constructor(
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * Input tokens of a turn. Rejects when the signal aborts; with `exact` also with the ModelError of an upstream that was asked, other
   * than that the context is too long for it.
   */
  async countInput(provider: ModelProviderBase, turn: Turn, options: Stoppable): Promise<number> {
    const counted = await this.own((own) => provider.countTokens(turn, own), turn, options);
    if (counted !== undefined) return counted;
    if (options.exact === true) return this.countInput(provider, turn, { ...options, exact: false });
    return (await countSettingsTokens(turn.settings, options)) + (await countItemTokens(turn.context, options));
  }

  /** Tokens of a pass whose model reported none. Rejects only when the signal aborts. */
  async countPass(
    provider: ModelProviderBase,
    turn: Turn,
    output: readonly Item[],
    signal: AbortSignal,
  ): Promise<Required<TokenCounts>> {
    const [input, written] = await Promise.all([
      this.countInput(provider, turn, { signal }),
      this.countOutput(provider, turn, output, { signal }),
    ]);
    return { input, cached: 0, cacheWrite: 0, output: written, reasoning: 0 };
  }

  /**
   * Tokens of a pass that has not ended, as the service estimates them. No upstream is asked, and the work is bounded, so that the turn
   * soon releases what it holds. Takes no signal, as the turn may have been stopped.
   */
  async countUnended({ settings, context }: Turn, written: readonly Item[]): Promise<Required<TokenCounts>> {
    const input = (await countSettingsTokens(settings)) + estimateItemTokens(context);
    return { input, cached: 0, cacheWrite: 0, output: estimateItemTokens(written), reasoning: 0 };
  }

  private async countOutput(
    provider: ModelProviderBase,
    turn: Turn,
    output: readonly Item[],
    options: Stoppable,
  ): Promise<number> {
    const counted = await this.own((own) => provider.countOutputTokens(output, own), turn, options);
    return counted ?? countItemTokens(output, options);
  }

  /** The provider's count; undefined when it is not usable. */
  private async own(
    count: (options: Stoppable) => Promise<number>,
    { responseId }: Turn,
    options: Stoppable,
  ): Promise<number | undefined> {
    options.signal.throwIfAborted();
    const { limitMs = this.environment.MODEL_IDLE_TIMEOUT_MS } = options;
    const counting = new AbortController();
    const { signal } = counting;
    const stop = (): void => counting.abort(options.signal.reason);
    options.signal.addEventListener('abort', stop);
    const timer = limitMs > 0 ? this.clock.schedule(limitMs, () => counting.abort(new Error(TOO_SLOW))) : null;
    try {
      return requireCount(await untilAborted(count({ ...options, signal }), signal));
    } catch (error) {
      options.signal.throwIfAborted();
      if (options.exact === true && error instanceof ModelError) {
        if (error.code === 'context_length_exceeded') return undefined;
        throw error;
      }
      this.outages.warn(`the tokens of ${responseId} were estimated`, String(error));
      return undefined;
    } finally {
      timer?.cancel();
      options.signal.removeEventListener('abort', stop);
    }
  }
}

function requireCount(tokens: unknown): number {
  if (!isTokenCount(tokens)) throw new Error(`the provider returned ${String(tokens)} as a token count`);
  return tokens;
}
