import { Injectable, Logger } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import type { Item, TokenCounts } from '../../protocol/index.js';
import { countItemTokens, countSettingsTokens, type ModelProviderBase, type Turn } from '../../providers/index.js';
import { Clock } from '../../time/index.js';

/** Counts tokens with the provider, or estimates them when it fails, times out, or returns an invalid count. */
@Injectable()
export class TokenMeter {
  private readonly outages = new OutageLog(new Logger(TokenMeter.name));

  constructor(
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /** Input tokens of a turn. */
  async countInput(provider: ModelProviderBase, turn: Turn): Promise<number> {
    const counted = await this.own(() => provider.countTokens(turn), turn);
    return counted ?? (await countSettingsTokens(turn.settings)) + (await countItemTokens(turn.context));
  }

  private async countOutput(provider: ModelProviderBase, turn: Turn, output: readonly Item[]): Promise<number> {
    return (await this.own(() => provider.countOutputTokens(output), turn)) ?? countItemTokens(output);
  }

  /** Tokens of a pass whose model reported none; never fails. */
  async countPass(provider: ModelProviderBase, turn: Turn, output: readonly Item[]): Promise<Required<TokenCounts>> {
    const [input, written] = await Promise.all([
      this.countInput(provider, turn),
      this.countOutput(provider, turn, output),
    ]);
    return { input, cached: 0, cacheWrite: 0, output: written, reasoning: 0 };
  }

  /** The provider's count; undefined when it is not usable. */
  private async own(count: () => Promise<number>, { responseId }: Turn): Promise<number | undefined> {
    try {
      return requireCount(await this.inTime(count()));
    } catch (error) {
      this.outages.warn(`the tokens of ${responseId} were estimated`, String(error));
      return undefined;
    }
  }

  private async inTime<T>(counted: Promise<T>): Promise<T> {
    const limitMs = this.environment.MODEL_IDLE_TIMEOUT_MS;
    if (limitMs === 0) return counted;
    const inTime = await this.clock.within(counted, limitMs);
    if (inTime === undefined) throw new Error('the provider did not count in time');
    return inTime.value;
  }
}

function requireCount(tokens: number): number {
  if (!Number.isSafeInteger(tokens) || tokens < 0) throw new Error(`the provider returned ${tokens} as a token count`);
  return tokens;
}
