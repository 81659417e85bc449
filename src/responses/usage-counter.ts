import { Injectable, Logger } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { type Item, toUsage, type Usage } from '../protocol/index.js';
import { countItemTokens, countSettingsTokens } from '../providers/index.js';
import { Clock } from '../time/index.js';
import type { PreparedTurn } from './turn-preparation.js';
import { untilAborted } from './until-aborted.js';

/** Counts a turn's tokens where the model reported none. */
@Injectable()
export class UsageCounter {
  private readonly logger = new Logger(UsageCounter.name);

  constructor(
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /** The provider's own count, or ours when it fails or takes too long: an answer is not lost for a number. */
  async count({ provider, turn }: PreparedTurn, output: readonly Item[], signal: AbortSignal): Promise<Usage> {
    try {
      const counted = Promise.all([provider.countTokens(turn), provider.countOutputTokens(output)]);
      const [input, written] = await untilAborted(this.inTime(counted), signal);
      return toUsage({ input: requireCount(input), output: requireCount(written) });
    } catch (error) {
      signal.throwIfAborted();
      this.logger.warn(`the tokens of ${turn.responseId} were estimated: ${String(error)}`);
      const estimated = Promise.all([countSettingsTokens(turn.settings), countItemTokens(turn.context)]);
      const [settings, context] = await untilAborted(estimated, signal);
      return toUsage({ input: settings + context, output: await untilAborted(countItemTokens(output), signal) });
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
  if (!Number.isSafeInteger(tokens) || tokens < 0) throw new Error(`the provider counted ${tokens}`);
  return tokens;
}
