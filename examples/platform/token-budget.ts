import { Injectable } from '@nestjs/common';
import {
  Admission,
  type AdmittedTurn,
  ApiError,
  type Lease,
  type Tenant,
  type TurnEstimate,
  type Usage,
} from 'antiphon';

/** Tokens that each team can use. */
const TOKENS_PER_TEAM = 1_000;

/** Reserves the estimated tokens of a turn, and corrects the reservation by its actual usage. */
@Injectable()
export class TokenBudget extends Admission {
  private readonly left = new Map<Tenant, number>();

  override acquire({ caller: { tenant } }: AdmittedTurn, estimate: TurnEstimate): Lease {
    const left = this.leftOf(tenant);
    const reserved = estimate.inputTokens + (estimate.maxOutputTokens ?? 0);
    if (reserved > left) {
      throw ApiError.of(
        'rate_limit_exceeded',
        `Your team has ${Math.max(0, left)} tokens left; this turn may need ${reserved}.`,
        {
          headers: { 'retry-after': '60' },
        },
      );
    }
    this.left.set(tenant, left - reserved);
    return {
      headers: { 'x-ratelimit-remaining-tokens': String(left - reserved) },
      release: (usage: Usage | null) => {
        this.left.set(tenant, this.leftOf(tenant) + reserved - (usage?.total_tokens ?? 0));
      },
    };
  }

  leftOf(tenant: Tenant): number {
    return this.left.get(tenant) ?? TOKENS_PER_TEAM;
  }
}
