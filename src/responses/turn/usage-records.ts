import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { StateBackend, type UsageRecord } from '../../state/index.js';
import type { TurnRecord } from './turn-observer.js';

/** What is known of a turn when it has ended. */
export interface UsedTurn extends Pick<
  TurnRecord,
  'responseId' | 'caller' | 'model' | 'provider' | 'transport' | 'background' | 'status' | 'usage'
> {
  /** Milliseconds since the epoch. */
  readonly endedAt: number;
}

/** Makes the records of what turns have used, if they are recorded. */
@Injectable()
export class UsageRecords {
  private readonly areKept: boolean;

  constructor({ usage }: StateBackend, { USAGE_RETENTION_DAYS }: Environment) {
    this.areKept = usage !== undefined && USAGE_RETENTION_DAYS > 0;
  }

  /** The record of a turn; undefined for one that was refused before it used anything, and where usage is not recorded. */
  of(turn: UsedTurn): UsageRecord | undefined {
    const { caller, status, usage } = turn;
    if (!this.areKept || (status === 'refused' && usage === null)) return undefined;
    return {
      responseId: turn.responseId,
      tenant: caller.tenant,
      keyId: caller.keyId ?? null,
      model: turn.model,
      provider: turn.provider,
      transport: turn.transport,
      background: turn.background,
      status,
      endedAt: turn.endedAt,
      tokens: {
        input: usage?.input_tokens ?? 0,
        cached: usage?.input_tokens_details.cached_tokens ?? 0,
        output: usage?.output_tokens ?? 0,
        reasoning: usage?.output_tokens_details.reasoning_tokens ?? 0,
      },
    };
  }
}
