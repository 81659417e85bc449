import { Injectable } from '@nestjs/common';

import { type Item, toUsage, type Usage } from '../protocol/index.js';
import { TokenMeter } from './token-meter.js';
import type { PreparedTurn } from './turn-preparation.js';

/** Counts a turn's tokens where the model reported none. */
@Injectable()
export class UsageCounter {
  constructor(private readonly meter: TokenMeter) {}

  /** An answer is not lost for a number: what the provider cannot count is estimated. */
  async count({ provider, turn }: PreparedTurn, output: readonly Item[]): Promise<Usage> {
    const [input, written] = await Promise.all([
      this.meter.countInput(provider, turn),
      this.meter.countOutput(provider, turn, output),
    ]);
    return toUsage({ input, output: written });
  }
}
