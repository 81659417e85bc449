import { Controller, Get, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller, permits, type Tenant } from '../access/index.js';
import { Describe } from '../http/api-description/index.js';
import { ConnectionRegistry } from '../connections/index.js';
import { apiPath } from '../http/index.js';
import { type LimitState, TenantLimits } from '../access/quotas/index.js';
import { type BegunTurn, RunningTurns } from '../responses/index.js';
import { Siblings, type SiblingTopic } from './siblings/index.js';

/** A turn that runs. */
interface RunningTurnBody extends Pick<BegunTurn, 'model' | 'door' | 'transport' | 'background'> {
  /** That of its response, which is stored once it has ended. */
  readonly id: string;
  readonly object: 'running_turn';
  /** Null while none was chosen. */
  readonly provider: string | null;
  /** Unix seconds; null while it waits to be admitted. */
  readonly started_at: number | null;
}

/** What all tenants do on this instance. */
interface TotalActivity {
  readonly turns: number;
  readonly background_turns: number;
  readonly connections: number;
}

/** The body of `GET /activity`. */
export interface ActivityBody {
  readonly object: 'activity';
  /** The processes of the instance: those that this tells of, and those that did not answer. */
  readonly processes: { readonly answered: number; readonly silent: number };
  readonly turns: readonly RunningTurnBody[];
  readonly limits: readonly LimitState[];
  /** Only with the scope `admin`. */
  readonly totals?: TotalActivity;
}

/** What one process knows. */
interface OwnActivity {
  readonly turns: readonly RunningTurnBody[];
  readonly totals: TotalActivity;
}

/** `GET /activity`: what happens now (docs/operations.md#activity). */
@Controller(apiPath('activity'))
@UseGuards(ApiKeyGuard)
export class ActivityController {
  private readonly others: SiblingTopic<Tenant, OwnActivity>;

  constructor(
    private readonly running: RunningTurns,
    private readonly connections: ConnectionRegistry,
    private readonly limits: TenantLimits,
    siblings: Siblings,
  ) {
    this.others = siblings.topic('activity', (tenant) => this.own(tenant));
  }

  @Describe(() => ({
    id: 'getActivity',
    group: 'Usage',
    summary: "Shows the caller's running turns on this instance, and what is left of its limits.",
    description:
      'The instance is the process that answers with the other workers beside it. With the scope `admin`, also how many turns and sockets all tenants have there.',
    answer: 'Activity',
  }))
  @Get()
  async show(@CurrentCaller() caller: Caller): Promise<ActivityBody> {
    const { tenant } = caller;
    const [limits, { replies, silent }] = await Promise.all([this.limits.statesOf(tenant), this.others.ask(tenant)]);
    const all = [this.own(tenant), ...replies];
    const turns = all.flatMap((one) => one.turns);
    const processes = { answered: all.length, silent };
    const totals = permits(caller, 'admin') ? { totals: sumOf(all.map((one) => one.totals)) } : {};
    return { object: 'activity', processes, turns, limits, ...totals };
  }

  private own(tenant: Tenant): OwnActivity {
    const { running, connections } = this;
    return {
      turns: running.ofTenant(tenant).map(toBody),
      totals: { turns: running.size, background_turns: running.background, connections: connections.size },
    };
  }
}

function sumOf(totals: readonly TotalActivity[]): TotalActivity {
  const sum = (count: (one: TotalActivity) => number): number => totals.reduce((all, one) => all + count(one), 0);
  return {
    turns: sum(({ turns }) => turns),
    background_turns: sum(({ background_turns: background }) => background),
    connections: sum(({ connections }) => connections),
  };
}

function toBody(turn: ReturnType<RunningTurns['ofTenant']>[number]): RunningTurnBody {
  const { responseId, model, provider, door, transport, background, startedAt } = turn;
  return {
    id: responseId,
    object: 'running_turn',
    ...{ model, provider, door, transport, background },
    started_at: startedAt === 0 ? null : Math.floor(startedAt / 1000),
  };
}
