import { Controller, Get, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller, permits } from '../access/index.js';
import { Describe } from '../api-description/index.js';
import { ConnectionRegistry } from '../connections/index.js';
import { apiPaths } from '../http/index.js';
import { type LimitState, TenantLimits } from '../limits/index.js';
import { type BegunTurn, RunningTurns } from '../responses/index.js';

/** A turn that runs. */
export interface RunningTurnBody extends Pick<BegunTurn, 'model' | 'door' | 'transport' | 'background'> {
  /** That of its response, which is stored once it has ended. */
  readonly id: string;
  readonly object: 'running_turn';
  /** Null while none was chosen. */
  readonly provider: string | null;
  /** Unix seconds; null while it waits to be admitted. */
  readonly started_at: number | null;
}

/** What all tenants do in this process. */
export interface TotalActivity {
  readonly turns: number;
  readonly background_turns: number;
  readonly connections: number;
}

/** The body of `GET /activity`. */
export interface ActivityBody {
  readonly object: 'activity';
  readonly turns: readonly RunningTurnBody[];
  readonly limits: readonly LimitState[];
  /** Only with the scope `admin`. */
  readonly totals?: TotalActivity;
}

/** `GET /activity`: what happens now (docs/operations.md#activity). */
@Controller(apiPaths('activity'))
@UseGuards(ApiKeyGuard)
export class ActivityController {
  constructor(
    private readonly running: RunningTurns,
    private readonly connections: ConnectionRegistry,
    private readonly limits: TenantLimits,
  ) {}

  @Describe(() => ({
    id: 'getActivity',
    group: 'Usage',
    summary: "Shows the caller's running turns on this replica, and what is left of its limits.",
    description: 'With the scope `admin`, also how many turns and sockets all tenants have there.',
    answer: 'Activity',
  }))
  @Get()
  async show(@CurrentCaller() caller: Caller): Promise<ActivityBody> {
    const limits = await this.limits.statesOf(caller.tenant);
    const turns = this.running.ofTenant(caller.tenant).map(toBody);
    return { object: 'activity', turns, limits, ...(permits(caller, 'admin') ? { totals: this.totals() } : {}) };
  }

  private totals(): TotalActivity {
    const { running, connections } = this;
    return { turns: running.size, background_turns: running.background, connections: connections.size };
  }
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
