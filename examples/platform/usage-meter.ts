import { Injectable } from '@nestjs/common';
import { type AnsweringTurn, type BegunTurn, type Tenant, TurnObserver, type TurnRecord } from 'antiphon';

/** Counts the tokens of each team. Turns do not wait for observers. */
@Injectable()
export class UsageMeter extends TurnObserver {
  readonly log: string[] = [];
  private readonly tokens = new Map<Tenant, number>();

  override begun({ caller, transport }: BegunTurn): void {
    this.log.push(`${caller.tenant} begins over ${transport}`);
  }

  override firstEvent({ caller, provider }: AnsweringTurn): void {
    this.log.push(`${caller.tenant} is answered by ${provider}`);
  }

  override async settled({ caller, status, usage }: TurnRecord): Promise<void> {
    this.tokens.set(caller.tenant, this.tokensOf(caller.tenant) + (usage?.total_tokens ?? 0));
    this.log.push(`${caller.tenant} is ${status}`);
  }

  tokensOf(tenant: Tenant): number {
    return this.tokens.get(tenant) ?? 0;
  }
}
